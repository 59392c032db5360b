package executable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs are the target programs that the tests have built, by their
// configuration: each is built once.
var programs struct {
	dir string
	sync.Mutex
	built map[string]*program
}

type program struct {
	once sync.Once
	path string
	out  string // what the go command said when it failed
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "binary-test-")
	if err != nil {
		panic(err)
	}
	programs.dir, programs.built = dir, map[string]*program{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the program in testdata/NAME and returns its path. Config holds
// environment variables (K=V) and arguments of go build, separated by blanks.
func build(t testing.TB, name, config string) string {
	t.Helper()
	key := name + " " + config
	programs.Lock()
	p := programs.built[key]
	if p == nil {
		p = &program{path: filepath.Join(programs.dir, strings.NewReplacer(" ", "_", "/", "_").Replace(key))}
		programs.built[key] = p
	}
	programs.Unlock()
	p.once.Do(func() { p.out = goBuild(filepath.Join("testdata", name), p.path, config) })
	if p.out != "" {
		t.Fatalf("go build with %q: %s", config, p.out)
	}
	return p.path
}

func goBuild(dir, out, config string) string {
	args := []string{"build", "-buildvcs=false", "-o", out}
	// Not influenced by how the tests are run: a workspace, flags, a cover build.
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	for _, f := range strings.Fields(config) {
		if strings.HasPrefix(f, "-") {
			args = append(args, f)
		} else {
			env = append(env, f)
		}
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir, cmd.Env = dir, env
	if msg, err := cmd.CombinedOutput(); err != nil {
		return err.Error() + "\n" + string(msg)
	}
	return ""
}

func mustOpen(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// needC skips a test that needs a C compiler.
func needC(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
}

// function returns the only function of that name.
func function(t testing.TB, f *File, name string) *Func {
	t.Helper()
	var found *Func
	for i := range f.Funcs {
		if f.Funcs[i].Name == name {
			if found != nil {
				t.Fatalf("two functions are named %s", name)
			}
			found = &f.Funcs[i]
		}
	}
	if found == nil {
		t.Fatalf("no function %s", name)
	}
	return found
}
