package record

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

// nowhereToSave returns a directory of traces that cannot be, also for root: it is a
// file.
func nowhereToSave(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestUnwritableBefore: whatever records finds out before it runs anything that the
// trace could not be saved.
func TestUnwritableBefore(t *testing.T) {
	dir := recordtest.Module(t)
	changes, server := fixtures.Build(t, "changes"), fixtures.Build(t, "server")
	mark := filepath.Join(dir, "ran")
	text := "package lib\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\t_ = os.WriteFile(" + strconv.Quote(mark) + ", nil, 0o644)\n\tos.Exit(m.Run())\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "lib", "main_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "lib.test")
	build := exec.Command("go", "test", "-c", "-o", program, "./lib")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	waits := exec.Command(server, "-wait")
	waits.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = waits.Process.Kill(); _ = waits.Wait() }()

	bad := nowhereToSave(t)
	for name, c := range map[string]struct {
		code int
		how  testRecording
		args []string
	}{
		"run":         {125, testRecording{}, []string{changes, "-mark", mark}},
		"baseline":    {125, testRecording{Spec: Spec{Baseline: "-mark " + mark}}, []string{changes}},
		"values":      {125, testRecording{Spec: Spec{Values: Values{Patterns: []string{OwnFunctions}}}}, []string{changes, "-mark", mark}},
		"breakpoint":  {125, by(Breakpoint), []string{changes, "-mark", mark}},
		"windows":     {125, testRecording{Windows: true}, []string{changes, "-mark", mark}},
		"go test":     {125, testRecording{}, []string{"go", "test", "./lib"}},
		"each test":   {125, testRecording{Spec: Spec{Each: 1}}, []string{"go", "test", "./lib"}},
		"each of one": {125, testRecording{Spec: Spec{Each: 1}}, []string{program}},
		"go run":      {125, testRecording{}, []string{"go", "run", "./cmd/app"}},
		"attach":      {125, testRecording{Attach: waits.Process.Pid}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.how.Spec.Store = bad
			cmd := startable(recording(t, dir, c.how, c.args...))
			cmd.Dir = dir
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Start()
			stuck := time.AfterFunc(recordtest.Timeout, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			_ = cmd.Wait()
			want := "error: traces cannot be saved in " + bad
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, want, out.String())
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the program has run")
				_ = os.Remove(mark)
			}
		})
	}
}

// TestUnwritableFileSize: no file may grow, as on a disk that is full.
func TestUnwritableFileSize(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	dir := t.TempDir()
	for limit, want := range map[string]string{"1": "file too large", "100": "a file may have 100 KiB only (ulimit -f), and a trace may need 4 MiB"} {
		how := testRecording{Spec: Spec{Store: dir}}
		line := recording(t, dir, how, fixtures.Build(t, "changes"), "-mark", mark)
		got := recordtest.See(t, dir, append([]string{"/bin/bash", "-c", `ulimit -f "$0"; exec "$@"`, limit}, line...)...)
		if got.Code != 125 || !strings.Contains(got.Stderr, "traces cannot be saved in "+dir+": "+want) {
			t.Errorf("%v", got)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program has run")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}

var savedAs = regexp.MustCompile(`(?m)^saved elsewhere: .*: (/\S*/tracerag-rescued-\S+\.pb\.gz)$`)

// rescued returns the traces that were saved elsewhere.
func rescued(t *testing.T, messages string, want int) (paths []string, traces []*trace.Trace) {
	t.Helper()
	for _, m := range savedAs.FindAllStringSubmatch(messages, -1) {
		tr, _, err := store.Open(t.TempDir()).Load(m[1])
		if err != nil {
			t.Fatal(err)
		}
		paths, traces = append(paths, m[1]), append(traces, tr)
	}
	if len(traces) != want {
		t.Fatalf("%d traces were saved elsewhere, want %d:\n%s", len(traces), want, messages)
	}
	return paths, traces
}

// TestSavedElsewhere: a directory that is spoilt by the program takes nothing from its
// run: the trace is saved elsewhere, and the program's exit code is passed on.
func TestSavedElsewhere(t *testing.T) {
	changes := fixtures.Build(t, "changes")
	work := t.TempDir()
	refuge := func() string { // each run has a temporary directory of its own
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		return dir
	}
	for _, recorder := range []string{Probe, Breakpoint} {
		how := by(recorder)
		dir, tmp := filepath.Join(t.TempDir(), "traces"), refuge()
		how.Spec.Store = dir
		got := see(t, work, how, changes, "-replace", dir, "-exit", "7")
		paths, traces := rescued(t, got.Stderr, 1)
		if got.Code != 7 || !strings.Contains(got.Stderr, "elsewhere: it is not a directory: "+tmp) || !strings.Contains(got.Stderr, "trace: "+paths[0]+"\n") {
			t.Errorf("%v", got)
		}
		if traces[0].Exit.Code != 7 || recordtest.Calls(traces[0], "main.work") != 1 {
			t.Errorf("%v", traces[0])
		}
		if info, err := os.Lstat(dir); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}

	// A directory that was only removed is made again.
	dir := filepath.Join(t.TempDir(), "traces")
	how := testRecording{Spec: Spec{Store: dir}}
	if got := see(t, work, how, changes, "-remove", dir); got.Code != 0 || strings.Contains(got.Stderr, "elsewhere") {
		t.Errorf("%v", got)
	}
	if _, _, err := store.Open(dir).Load("@last"); err != nil {
		t.Error(err)
	}

	// Without a temporary directory the cache directory takes it.
	t.Setenv("TMPDIR", "/proc/tracerag")
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv("XDG_CACHE_HOME", cache)
	spoil := []string{changes, "-replace", dir}
	got := see(t, work, how, append(spoil, "-exit", "3")...)
	if paths, _ := rescued(t, got.Stderr, 1); got.Code != 3 || !strings.HasPrefix(paths[0], cache) {
		t.Errorf("%v", got)
	}

	// Without either, another one of the system's does.
	_ = os.Remove(dir)
	t.Setenv("XDG_CACHE_HOME", "/proc/tracerag")
	got = see(t, work, how, append(spoil, "-exit", "4")...)
	paths, traces := rescued(t, got.Stderr, 1)
	if got.Code != 4 || traces[0].Exit.Code != 4 {
		t.Errorf("%v", got)
	}
	if at := filepath.Dir(paths[0]); strings.HasPrefix(filepath.Base(at), "tracerag-rescued-") {
		_ = os.RemoveAll(at)
	}

	// Nowhere at all.
	_ = os.Remove(dir)
	spoil = []string{changes, "-forbid", "yes"}
	for code, want := range map[int]int{0: 125, 4: 4} {
		got := see(t, work, how, append(spoil, "-exit", fmt.Sprint(code))...)
		if got.Code != want || !strings.Contains(got.Stderr, "error: the trace of this run is lost: it cannot be saved in "+dir+": file too large\nnor elsewhere:\n") {
			t.Errorf("exit code %d: %v", code, got)
		}
	}
}

// TestTestsSavedElsewhere: the same of what the go command runs, and of each test.
func TestTestsSavedElsewhere(t *testing.T) {
	dir := recordtest.Module(t)
	where := filepath.Join(t.TempDir(), "traces")
	text := fmt.Sprintf("package lib\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSpoil(*testing.T) {\n\t_ = os.RemoveAll(%[1]q)\n\t_ = os.WriteFile(%[1]q, nil, 0o644)\n}\n\nfunc TestZ(*testing.T) { Double(1) }\n", where)
	if err := os.WriteFile(filepath.Join(dir, "lib", "spoil_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	said := Spec{Store: where, Caller: []byte("{}")} // the jobs say what happens
	got := see(t, dir, testRecording{Spec: said}, "go", "test", "-run", "Spoil|Z", "./lib")
	if got.Code != 0 {
		t.Errorf("%v", got)
	}
	rescued(t, got.Stderr, 1)
	_ = os.Remove(where)
	said.Each = 1
	got = see(t, dir, testRecording{Spec: said}, "go", "test", "-run", "Spoil|Z", "./lib")
	if got.Code != 0 {
		t.Errorf("%v", got)
	}
	_, traces := rescued(t, got.Stderr, 2)
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "tracerag-rescued-*")); len(dirs) != 2 {
		t.Errorf("the traces of one command are in more than one directory: %v", dirs)
	}
	if names := recordtest.Names(traces); !slices.Equal(names, []string{"TestSpoil", "TestZ"}) {
		t.Errorf("traces %q", names)
	}
}

// TestFullDisk is the real thing: a file system of its own, which is full before the
// program starts, or because of it.
func TestFullDisk(t *testing.T) {
	if out, err := exec.Command("unshare", "-Urm", "sh", "-c", "mount -t tmpfs none /mnt").CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	changes := fixtures.Build(t, "changes")
	disk, work := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	mark := filepath.Join(t.TempDir(), "ran")
	how := testRecording{Spec: Spec{Store: filepath.Join(disk, "traces")}}
	onDisk := func(size, before string, args ...string) recordtest.Seen {
		script := `mount -t tmpfs -o size=$1 none "$2" || exit 99; disk=$2; before=$3; shift 3; eval "$before"; "$@"; code=$?; ls -A "$disk/traces" 2>/dev/null; exit $code`
		line := recording(t, work, how, append([]string{changes}, args...)...)
		return recordtest.See(t, work, append([]string{"unshare", "-Urm", "bash", "-c", script, "sh", size, disk, before}, line...)...)
	}
	for _, c := range []struct{ size, before, want string }{
		{"64M", `head -c 70M /dev/zero > $disk/filling 2>/dev/null`, "no space left on device"},
		{"64M", `head -c 63M /dev/zero > $disk/filling`, "only 1024 KiB are free there"},
		{"1M", ``, "only 1024 KiB are free there"},
		{"64M", `mount -o remount,ro $disk`, "read-only file system"},
	} {
		got := onDisk(c.size, c.before, "-mark", mark)
		if got.Code != 125 || !strings.Contains(got.Stderr, "traces cannot be saved in "+disk+"/traces: "+c.want) && !strings.Contains(got.Stderr, c.want) {
			t.Errorf("%s %s: %v", c.size, c.before, got)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: the program has run", c.want)
			_ = os.Remove(mark)
		}
	}
	got := onDisk("64M", "", "-fill", disk, "-exit", "6")
	if got.Code != 6 || got.Stdout != "working\n" || !strings.Contains(got.Stderr, "saved elsewhere: no space left on device: ") {
		t.Errorf("filled by the program: %v", got)
	}
	rescued(t, got.Stderr, 1)
}
