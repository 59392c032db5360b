package rebuild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// emulator returns a command that runs programs of linux/arm64.
func emulator(t *testing.T) []string {
	t.Helper()
	path, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		if os.Getenv("TRACERAG_QEMU") == "require" {
			t.Fatal(err)
		}
		t.Skip("qemu-aarch64 is not installed (Debian's qemu-user)")
	}
	return []string{path}
}

// TestArm64 holds the trees of fixtures on linux/arm64 against those on linux/amd64. There is no ptrace in the emulator,
// and none is needed. execchild starts itself, which the emulator does not do.
func TestArm64(t *testing.T) {
	through := emulator(t)
	names := elsewhere("execchild")
	dir := buildFor(t, "linux", "arm64", names...)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{filepath.Join(dir, name)}, programs[name]...)
			got := asHere(t, name, recordtest.Run{Job: recordtest.Job{Args: args, Through: through}}, programs[name]...)
			alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: append(slices.Clone(through), args...)}, Env: one})
			if got.Stdout != alone.Stdout || got.Code != alone.Code {
				t.Errorf("recorded it ends with %d and prints\n%s\nalone with %d, and\n%s", got.Code, got.Stdout, alone.Code, alone.Stdout)
			}
		})
	}
}

// TestArm64Counters holds a program with goroutines on several threads against its own counters.
func TestArm64Counters(t *testing.T) {
	through := emulator(t)
	dir := buildFor(t, "linux", "arm64", "counters")
	n := 20
	if testing.Short() {
		n = 2
	}
	for i := range n {
		file := filepath.Join(dir, "counters.json")
		got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Through: through, Args: []string{filepath.Join(dir, "counters"), "-counters", file}}, Env: []string{"GOMAXPROCS=4"}})
		exact(t, got, file)
		if t.Failed() {
			t.Fatalf("run %d of %d", i+1, n)
		}
	}
}

// TestArm64Tablecat does what TestArm64 does, with a program on real libraries.
func TestArm64Tablecat(t *testing.T) {
	through := emulator(t)
	dir := buildFor(t, "linux", "arm64", "tablecat")
	data := fixtures.Dir("tablecat")
	for _, args := range [][]string{{"--csv", filepath.Join(data, "data.csv")}, {"--md", filepath.Join(data, "doc.md")}, {"Done :sparkle:", "--emoji"}} {
		there := append([]string{filepath.Join(dir, "tablecat")}, args...)
		asHere(t, "tablecat", recordtest.Run{Job: recordtest.Job{Args: there, Through: through}}, args...)
	}
}
