package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tracerag/fixtures"
)

// The test binary is the inner step, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "inner" {
		os.Exit(Inner())
	}
	os.Setenv("OPENAI_API_KEY", "secret-of-ours") // no command may see it
	os.Exit(m.Run())
}

// hostileVariable names the hostile program for processes that need not, or can't, build it again.
const hostileVariable = "TRACERAG_TEST_HOSTILE"

// rig is a sandbox around the hostile program, and what is outside.
type rig struct {
	*Sandbox
	t         testing.TB
	scratch   string // may be written
	outside   string // may not
	home      string // is hidden
	hostile   string
	stop      context.CancelFunc
	ctx       context.Context
	mechanism string
}

func newRig(t testing.TB, mechanism string) *rig {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, scratch: t.TempDir(), outside: t.TempDir(), home: t.TempDir(), mechanism: mechanism}
	r.Sandbox = New([]string{exe, "inner", r.scratch}) // so that its inner steps can be found
	r.only = mechanism
	r.ctx, r.stop = context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(r.stop)
	for _, dir := range []string{"home", "tmp", "gocache", "tree"} {
		if err := os.Mkdir(filepath.Join(r.scratch, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.hostile = filepath.Join(r.scratch, "hostile")
	built := os.Getenv(hostileVariable)
	if built == "" {
		built = fixtures.Build(t, "hostile")
	}
	if out, err := exec.Command("cp", built, r.hostile).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return r
}

// command is one with limits that no attack may exceed.
func (r *rig) command(args ...string) Command {
	return Command{
		Args: args, Dir: filepath.Join(r.scratch, "tree"), Env: Environment(os.Environ(), r.scratch, false),
		Write: []string{r.scratch}, Temp: filepath.Join(r.scratch, "tmp"), Hide: []string{r.home},
		Limits: Limits{Time: 20 * time.Second, Memory: 200 << 20, Processes: 60, Disk: 60 << 20, Output: 1 << 20},
	}
}

// run runs the hostile program.
func (r *rig) run(do string, args ...string) (Result, string) {
	r.t.Helper()
	return r.runs(r.command(append([]string{r.hostile, "-do=" + do}, args...)...))
}

func (r *rig) runs(c Command) (Result, string) {
	r.t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	res, err := r.Run(r.ctx, c)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return res, out.String()
}
