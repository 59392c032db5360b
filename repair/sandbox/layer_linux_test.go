package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLayers requires that a cache shows what is below it and keeps what is written to
// itself: a candidate's test must not get anything into the user's build cache.
func TestLayers(t *testing.T) {
	each(t, func(r *rig) {
		users := r.t.TempDir()
		must(r.t, os.WriteFile(filepath.Join(users, "a"), []byte("built before"), 0o666))
		cache := filepath.Join(r.scratch, "gocache")
		c := r.command("/bin/sh", "-c", `cat a; echo changed > a; echo new > b; cat a b; rm -f a`)
		c.Dir = cache
		c.Layers = []Layer{{Dir: cache, Below: []string{users}}}
		_, out := r.runs(c)
		if !strings.Contains(out, "changed\nnew\n") {
			r.t.Errorf("%q", out)
		}
		if r.mechanism == namespaces && !strings.HasPrefix(out, "built before") {
			r.t.Skipf("this kernel lays no directory over another: %q", out)
		}
		if text, _ := os.ReadFile(filepath.Join(users, "a")); string(text) != "built before" {
			r.t.Errorf("below it is now %q", text)
		}
		if text, _ := os.ReadFile(filepath.Join(cache, "b")); string(text) != "new\n" {
			r.t.Errorf("kept was %q", text)
		}
		must(r.t, os.RemoveAll(r.scratch))
	})
}
