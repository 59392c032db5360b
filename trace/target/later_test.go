package target

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tracerag/fixtures"
)

// TestFindLater: whether patterns choose anything is known after Ready, and Find waits for it.
func TestFindLater(t *testing.T) {
	args := []string{fixtures.Build(t, "closures")}
	for range 2 {
		tgt, err := FindLater(args, t.TempDir(), []string{"example.com/none"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var none *NoMatchError
		if err := tgt.Ready(); !errors.As(err, &none) {
			t.Errorf("the error is %v, want that nothing matches", err)
		}
		if _, err := Find(args, t.TempDir(), []string{"example.com/none"}, nil); !errors.As(err, &none) {
			t.Errorf("the error of Find is %v, want that nothing matches", err)
		}
	}
	tgt, err := FindLater(args, t.TempDir(), nil, nil)
	if err != nil || tgt.Ready() != nil || !tgt.Records(tgt.Binary.MainPath) || tgt.Records("fmt") {
		t.Errorf("the main package is not recorded alone (%v)", err)
	}
}

// TestChoice: patterns that are relative mean what they mean in their directory.
func TestChoice(t *testing.T) {
	args := []string{fixtures.Build(t, "closures")}
	choice := func(module string) []string {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		tgt, err := FindLater(args, dir, []string{"./...", "main", "std"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		include, exclude := tgt.Choice()
		if len(exclude) > 0 {
			t.Errorf("%q are left out", exclude)
		}
		return include
	}
	if got, want := choice("example.com/a"), []string{"./example.com/a/...", "main", "std"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the choice is %q, want %q", got, want)
	}
	if a, b := choice("example.com/a"), choice("example.com/b"); reflect.DeepEqual(a, b) {
		t.Errorf("in another module it is %q, too", b)
	}
}
