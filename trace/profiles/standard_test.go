package profiles

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestStandardFirstElementsAreTheToolchains(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, pkg := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(pkg, "/")
		have[first] = true
		if !standard(pkg) {
			t.Errorf("%s is not taken for a standard package", pkg)
		}
	}
	if len(have) < 40 {
		t.Fatalf("go list std names only %v", slices.Sorted(maps.Keys(have)))
	}
	for _, pkg := range []string{"main", "app", "app/fmt", "example.com/fmt", "tracerag/trace", "cmd/go", "golang.org/x/text"} {
		if standard(pkg) {
			t.Errorf("%s is taken for a standard package", pkg)
		}
	}
}
