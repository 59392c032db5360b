package code_test

import (
	"runtime"
	"slices"
	"testing"

	"tracerag/code"
)

// TestTags says which tags a file needs to be built on this machine.
func TestTags(t *testing.T) {
	other := "windows"
	if runtime.GOOS == other {
		other = "linux"
	}
	for _, c := range []struct {
		name, constraint string
		tags             []string
		ok               bool
	}{
		{"a_test.go", "", nil, true},
		{"a_" + other + "_test.go", "", nil, false},
		{"a_" + runtime.GOOS + "_test.go", "", nil, true},
		{"a_" + runtime.GOOS + "_" + runtime.GOARCH + "_test.go", "", nil, true},
		{other + "_test.go", "", nil, true},
		{"a_test.go", other, nil, false},
		{"a_test.go", "!" + other, nil, true},
		{"a_test.go", "integration", []string{"integration"}, true},
		{"a_test.go", "!integration", nil, true},
		{"a_test.go", "integration && !" + other, []string{"integration"}, true},
		{"a_test.go", "integration && " + other, nil, false},
		{"a_test.go", "integration || " + other, []string{"integration"}, true},
		{"a_test.go", "e2e && (slow || manual)", []string{"e2e", "slow"}, true},
		{"a_test.go", "ignore", nil, false},
		{"a_test.go", "race", nil, false},
		{"a_test.go", "go1.1", nil, true},
		{"a_test.go", "go1.999", nil, false},
		{"a_test.go", "integration &&", nil, false}, // the go command refuses it
		{"_a_test.go", "", nil, false},
	} {
		tags, ok := code.Tags(code.Built{Name: c.name, Constraint: c.constraint})
		if ok != c.ok || !slices.Equal(tags, c.tags) {
			t.Errorf("%s %q: %v, %v; want %v, %v", c.name, c.constraint, tags, ok, c.tags, c.ok)
		}
	}
	if tags, ok := code.Tags(code.Built{Name: "a.go", Constraint: "x"}, code.Built{Name: "a_test.go", Constraint: "y && x"}); !ok || !slices.Equal(tags, []string{"x", "y"}) {
		t.Errorf("of two files: %v, %v", tags, ok)
	}
	if _, ok := code.Tags(code.Built{Name: "a.go", Constraint: "x"}, code.Built{Name: "a_test.go", Constraint: "!x"}); ok {
		t.Error("two files that are never built together are")
	}
}
