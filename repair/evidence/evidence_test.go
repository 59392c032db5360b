package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTestOf: a test is found in the files of its package, with its doc comment and the other tests of its
// file.
func TestTestOf(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"table/a_test.go":     "package table\n\nfunc TestA() {}\n",
		"table/b_test.go":     "package table\n\n// TestB tests b.\nfunc TestB() {}\n\nfunc Testing() {}\n\nfunc TestC() {}\n\nfunc Test_d() {}\n\nfunc BenchmarkB() {}\n",
		"table/b.go":          "package table\n\nfunc TestB() {}\n",
		"table/sub/b_test.go": "package sub\n\nfunc TestSub() {}\n",
	}
	var names []string
	for name, text := range files {
		names = append(names, name)
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := TestOf(dir, "table", "example.com/table", "TestB/some case", names)
	if err != nil || got.File != "table/b_test.go" || got.Source != "// TestB tests b.\nfunc TestB() {}" || got.Name != "TestB/some case" || !slices.Equal(got.Siblings, []string{"TestC", "Test_d"}) {
		t.Errorf("%v %+v", err, got)
	}
	none := new(NoTestError)
	if _, err := TestOf(dir, "table", "example.com/table", "TestSub", names); !errors.As(err, &none) {
		t.Error(err)
	}
}

// TestFailure: of an output the lines count that say how a test fails, and not many of them.
func TestFailure(t *testing.T) {
	got := failure("=== RUN   TestX\n    x_test.go:7: got 3\n--- FAIL: TestX (0.01s)\n=== NAME\nFAIL\nexit status 1\nok  \tother\t0.1s\n" + strings.Repeat("a line\n", 1000))
	if lines := strings.Split(got, "\n"); lines[0] != "x_test.go:7: got 3" || lines[1] != "--- FAIL: TestX (0.01s)" || lines[2] != "a line" || len(lines) != failureLines {
		t.Errorf("%q", got)
	}
}
