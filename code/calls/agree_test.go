package calls

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
	"golang.org/x/tools/txtar"
)

// TestStaticAgrees compares the static calls, which are those that go/types resolves, with what
// go/ssa makes of the same code: another library's answer to the same question. The modules are ones
// that this one requires, so that they are on every machine that can build it, and
// TRACERAG_CALLS names more directories.
func TestStaticAgrees(t *testing.T) {
	dirs := strings.Fields(os.Getenv("TRACERAG_CALLS"))
	for _, m := range []string{"github.com/spf13/pflag", "go.yaml.in/yaml/v3", "github.com/sashabaranov/go-openai", "github.com/pelletier/go-toml/v2"} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m).Output()
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	a, err := txtar.ParseFile("testdata/constructs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range append(dirs, dir) {
		agree(t, d)
	}
}

func agree(t *testing.T, dir string) {
	l, err := list(context.Background(), Config{Dir: dir, Tests: true, Env: append(os.Environ(), "GOFLAGS=")})
	if err != nil {
		t.Fatal(err)
	}
	m := newModule(l)
	if err := m.check(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.static()
	type site struct {
		caller Name
		index  int
	}
	named := map[site]Name{}
	for _, e := range m.edges {
		for _, s := range e.static {
			k := site{s.Caller, s.Site}
			if was, ok := named[k]; ok && was != s.Callee {
				t.Errorf("%s: site %d of %v calls both %v and %v", dir, s.Site, s.Caller, was, s.Callee)
			}
			named[k] = s.Callee
		}
	}
	prog, err := m.build()
	if err != nil {
		t.Fatal(err)
	}
	r := &resolver{module: m}
	seen := map[site]bool{}
	for f := range ssautil.AllFunctions(prog) {
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				c, ok := i.(ssa.CallInstruction)
				if !ok || !place(c).IsValid() {
					continue
				}
				s := m.source(place(c))
				if s == nil {
					continue
				}
				caller, index, ok := s.site(place(c))
				if !ok {
					continue
				}
				k := site{caller, index}
				want, static := named[k]
				seen[k] = true
				callee := c.Common().StaticCallee()
				if callee == nil {
					if static {
						t.Errorf("%s: site %d of %v: static %v, but go/ssa knows no callee", dir, index, caller, want)
					}
					continue
				}
				got, own := r.name(callee)
				switch {
				case static && got != want:
					t.Errorf("%s: site %d of %v: static %v, but go/ssa calls %v", dir, index, caller, want, got)
				case !static && own && s.kinds[place(c)] == Static:
					t.Errorf("%s: site %d of %v: no edge, but go/ssa calls %v", dir, index, caller, got)
				case !static && own && callee.Parent() == nil && callee.Synthetic == "" && !isInterfaceOrValue(s.kinds[place(c)]):
					t.Errorf("%s: site %d of %v: kind %v, but go/ssa calls %v", dir, index, caller, s.kinds[place(c)], got)
				}
			}
		}
	}
	missing := 0
	for k := range named {
		if !seen[k] {
			missing++
		}
	}
	t.Logf("%s: %d static calls, %d of them not in go/ssa's code", filepath.Base(dir), len(named), missing)
	if len(named) == 0 || missing*50 > len(named) {
		t.Errorf("%s: go/ssa has no code for %d of %d static calls", dir, missing, len(named))
	}
}

func isInterfaceOrValue(k Kind) bool { return k == Interface || k == Value }
