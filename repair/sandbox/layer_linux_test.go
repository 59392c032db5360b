package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
		res, out := r.runs(c)
		if !strings.Contains(out, "changed\nnew\n") {
			r.t.Errorf("%q", out)
		}
		// Where the machine can't lay one over the other, the result names the cache and says why.
		if strings.HasPrefix(out, "built before") != (len(res.Unlayered) == 0) || len(res.Unlayered) > 0 && !strings.HasPrefix(res.Unlayered[0], cache+": ") {
			r.t.Errorf("not laid over others: %q, and it prints %q", res.Unlayered, out)
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

// TestUnlayered: a layer that can't be laid over others says so, and works by itself. One that has nothing
// below it has nothing to say.
func TestUnlayered(t *testing.T) {
	each(t, func(r *rig) {
		cache := filepath.Join(r.scratch, "a,b")
		must(r.t, os.Mkdir(cache, 0o755))
		c := r.command("/bin/sh", "-c", "echo new > "+filepath.Join(cache, "b"))
		c.Layers = []Layer{{Dir: cache, Below: []string{r.outside}}}
		if res, out := r.runs(c); len(res.Unlayered) != 1 || !strings.HasPrefix(res.Unlayered[0], cache+": ") || res.Code != 0 {
			r.t.Errorf("%+v\n%s", res, out)
		}
		c.Layers[0].Below = []string{filepath.Join(r.outside, "none")}
		if res, _ := r.runs(c); len(res.Unlayered) > 0 {
			r.t.Errorf("%q", res.Unlayered)
		}
	})
}

// TestLayersAtOnce requires that one command may have a cache while others come to have it and end: the candidates of a
// repair build beside each other.
func TestLayersAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		if r.mechanism != namespaces {
			r.t.Skip("it lays nothing over anything")
		}
		users := r.t.TempDir()
		for i := range 300 { // the kernel copies a directory to create a file there
			must(r.t, os.Mkdir(filepath.Join(users, fmt.Sprintf("d%d", i)), 0o777))
		}
		cache := filepath.Join(r.scratch, "gocache")
		command := func(script string) Command {
			c := r.command("/bin/sh", "-c", script)
			c.Dir = cache
			c.Layers = []Layer{{Dir: cache, Below: []string{users}}}
			return c
		}
		must(r.t, os.MkdirAll(cache, 0o777))
		var others sync.WaitGroup
		over := make(chan struct{})
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_, _ = r.Run(r.t.Context(), command("true"))
				}
			}
		})
		_, out := r.runs(command(`i=0; while [ $i -lt 300 ]; do echo $i > d$i/f || exit 1; i=$((i+1)); sleep 0.005; done; echo all`))
		close(over)
		others.Wait()
		if !strings.Contains(out, "all\n") {
			r.t.Errorf("%q", out)
		}
		if left, _ := filepath.Glob(cache + ".work*"); len(left) > 0 {
			r.t.Errorf("left behind: %v", left)
		}
		must(r.t, os.RemoveAll(r.scratch))
	})
}
