package knowledge_test

import (
	"testing"

	"tracerag/knowledge"
)

// TestWithin says which files a pattern means.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"", "a.go", true}, {"...", "x/a.go", true}, {"./...", "x/a.go", true},
		{"x", "x/a.go", true}, {"./x", "x/a.go", true}, {"x", "x/y/a.go", false}, {"x", "xy/a.go", false},
		{"x/...", "x/a.go", true}, {"x/...", "x/y/a.go", true}, {"x/...", "xy/a.go", false}, {"y/...", "x/y/a.go", false},
		{"x/a.go", "x/a.go", true}, {"a.go", "x/a.go", false},
		{".", "a.go", true}, {".", "x/a.go", false},
		{"*", "x/a.go", true}, {"*", "x/y/a.go", false}, {"x/*.go", "x/a.go", true}, {"x*", "xy/a.go", true},
		{"x*/...", "xy/z/a.go", true}, {"*/y/...", "x/y/z/a.go", true},
		{"example.com/app/x", "x/a.go", true}, {"example.com/app", "x/a.go", false}, {"example.com/app/...", "x/a.go", true},
		{"example.com/*/x", "x/a.go", true}, {"[", "x/a.go", false}, {"[x", "[x/a.go", true},
	} {
		pkg := "example.com/app"
		if c.file != "a.go" {
			pkg += "/" + c.file[:len(c.file)-len("/a.go")]
		}
		if got := knowledge.Within(c.pattern, c.file, pkg); got != c.want {
			t.Errorf("%q, %s of %s: %v", c.pattern, c.file, pkg, got)
		}
	}
}
