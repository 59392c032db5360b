package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
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
	dir := goDir(t)
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
	for _, c := range []struct {
		code int
		args []string
	}{
		{125, []string{"run", "--", changes, "-mark", mark}},
		{125, []string{"run", "--baseline=-mark " + mark, "--", changes}},
		{125, []string{"run", "--values", "--", changes, "-mark", mark}},
		{125, []string{"run", "--recorder=breakpoint", "--", changes, "-mark", mark}},
		{125, []string{"run", "--window", "--", changes, "-mark", mark}},
		{125, []string{"run", "--", "go", "test", "./lib"}},
		{125, []string{"run", "--each", "--", "go", "test", "./lib"}},
		{125, []string{"run", "--each", "--", program}},
		{125, []string{"run", "--", "go", "run", "./cmd/app"}},
		{1, []string{"attach", fmt.Sprint(waits.Process.Pid)}},
	} {
		t.Run(strings.Join(c.args[:2], " "), func(t *testing.T) {
			cmd := exec.Command("tracerag", append([]string{c.args[0], "--dir=" + bad}, c.args[1:]...)...)
			cmd.Dir = dir
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Start()
			stuck := time.AfterFunc(recordtest.Timeout, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			_ = cmd.Wait()
			want := "tracerag: traces cannot be saved in " + bad
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "--dir or TRACERAG_DIR") {
				t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, code, c.code, want, out.String())
			}
			if _, err := os.Stat(mark); err == nil {
				t.Errorf("%v: the program has run", c.args)
				_ = os.Remove(mark)
			}
		})
	}
}

// TestUnwritableFileSize: no file may grow, as on a disk that is full.
func TestUnwritableFileSize(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	dir := t.TempDir()
	for limit, want := range map[string]string{"1": "file too large\n  choose another directory", "100": "a file may have 100 KiB only (ulimit -f), and a trace may need 4 MiB"} {
		script := `ulimit -f "$4"; exec tracerag run --dir "$1" -- "$2" -mark "$3"`
		got := see(t, dir, "/bin/bash", "-c", script, "sh", dir, fixtures.Build(t, "changes"), mark, limit)
		if got.code != 125 || !strings.Contains(got.stderr, "traces cannot be saved in "+dir+": "+want) {
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

var importLine = regexp.MustCompile(`(?m)^  tracerag import .*?(/\S+\.pb\.gz)$`)

var savedAs = regexp.MustCompile(`/\S*/tracerag-rescued-\S+\.pb\.gz`)

// rescued imports the traces that messages name into a new store, and returns that.
func rescued(t *testing.T, messages string, traces int) *store.Store {
	t.Helper()
	found := importLine.FindAllStringSubmatch(messages, -1)
	if len(found) != traces {
		t.Fatalf("%d traces are to be imported, want %d:\n%s", len(found), traces, messages)
	}
	s := store.Open(t.TempDir())
	for _, m := range found {
		if got := see(t, t.TempDir(), "tracerag", "import", "--dir="+s.Dir(), m[1]); got.code != 0 {
			t.Errorf("import: %v", got)
		}
	}
	return s
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
	for _, recorder := range []string{"probe", "breakpoint"} {
		dir, tmp, ids := filepath.Join(t.TempDir(), "traces"), refuge(), filepath.Join(t.TempDir(), "ids")
		got := see(t, work, "tracerag", "run", "--recorder="+recorder, "--dir="+dir, "--id-file="+ids, "--", changes, "-replace", dir, "-exit", "7")
		if got.code != 7 || !strings.Contains(got.stderr, "tracerag: the trace cannot be saved in "+dir+": it is not a directory\n  it was saved as "+tmp) {
			t.Errorf("%v", got)
		}
		tr, _, err := rescued(t, got.stderr, 1).Load("@last")
		if err != nil || tr.Exit.Code != 7 || callsOf(tr, "main.work") != 1 {
			t.Errorf("%v: %v", err, tr)
		}
		// What is proposed next is of that trace, and so is the file of ids.
		name, _ := os.ReadFile(ids)
		if path := strings.TrimSpace(string(name)); !strings.HasPrefix(path, tmp) || !strings.Contains(got.stderr, "tracerag tree --dir="+dir+" "+path+"\n") {
			t.Errorf("the file of ids: %q, %v", name, got)
		}
		if info, err := os.Lstat(dir); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}

	// A directory that was only removed is made again.
	dir := filepath.Join(t.TempDir(), "traces")
	if got := see(t, work, "tracerag", "run", "--quiet", "--dir="+dir, "--", changes, "-remove", dir); got.code != 0 || got.stderr != "" {
		t.Errorf("%v", got)
	}
	if _, _, err := store.Open(dir).Load("@last"); err != nil {
		t.Error(err)
	}

	// Without a temporary directory the cache directory takes it, in a quiet run, too.
	t.Setenv("TMPDIR", "/proc/tracerag")
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv("XDG_CACHE_HOME", cache)
	spoil := []string{"tracerag", "run", "--quiet", "--dir=" + dir, "--", changes, "-replace", dir}
	if got := see(t, work, append(spoil, "-exit", "3")...); got.code != 3 || !strings.Contains(got.stderr, "it was saved as "+cache) {
		t.Errorf("%v", got)
	}

	// Without either, another one of the system's does.
	_ = os.Remove(dir)
	t.Setenv("XDG_CACHE_HOME", "/proc/tracerag")
	got := see(t, work, append(spoil, "-exit", "4")...)
	tr, _, err := rescued(t, "  tracerag import "+savedAs.FindString(got.stderr), 1).Load("@last")
	if got.code != 4 || err != nil || tr.Exit.Code != 4 {
		t.Errorf("%v: %v", got, err)
	}
	if at := filepath.Dir(savedAs.FindString(got.stderr)); strings.HasPrefix(filepath.Base(at), "tracerag-rescued-") {
		_ = os.RemoveAll(at)
	}

	// Nowhere at all.
	_ = os.Remove(dir)
	spoil = []string{"tracerag", "run", "--quiet", "--dir=" + dir, "--", changes, "-forbid", "yes"}
	for _, code := range []int{0, 4} {
		want := code
		if want == 0 {
			want = 125
		}
		got := see(t, work, append(spoil, "-exit", fmt.Sprint(code))...)
		if got.code != want || !strings.Contains(got.stderr, "tracerag: the trace of this run is lost: it cannot be saved in "+dir+": file too large\n  nor elsewhere:\n") {
			t.Errorf("exit code %d: %v", code, got)
		}
	}
}

// TestTestsSavedElsewhere: the same of what the go command runs, and of each test.
func TestTestsSavedElsewhere(t *testing.T) {
	dir := goDir(t)
	traces := filepath.Join(t.TempDir(), "traces")
	text := fmt.Sprintf("package lib\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSpoil(*testing.T) {\n\t_ = os.RemoveAll(%[1]q)\n\t_ = os.WriteFile(%[1]q, nil, 0o644)\n}\n\nfunc TestZ(*testing.T) { Double(1) }\n", traces)
	if err := os.WriteFile(filepath.Join(dir, "lib", "spoil_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	got := see(t, dir, "tracerag", "run", "--dir="+traces, "--", "go", "test", "-run", "Spoil|Z", "./lib")
	if got.code != 0 {
		t.Errorf("%v", got)
	}
	rescued(t, got.stderr, 1)
	_ = os.Remove(traces)
	got = see(t, dir, "tracerag", "run", "--each", "--dir="+traces, "--", "go", "test", "-run", "Spoil|Z", "./lib")
	if got.code != 0 {
		t.Errorf("%v", got)
	}
	s := rescued(t, got.stderr, 2)
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "tracerag-rescued-*")); len(dirs) != 2 {
		t.Errorf("the traces of one command are in more than one directory: %v", dirs)
	}
	for _, name := range []string{"TestSpoil", "TestZ"} {
		if _, _, err := s.Load(name); err != nil {
			t.Error(err)
		}
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
	onDisk := func(size, before string, args ...string) seen {
		script := `mount -t tmpfs -o size=$1 none "$2" || exit 99; disk=$2; before=$3; shift 3; eval "$before"; tracerag run --dir "$disk/traces" -- "$@"; code=$?; ls -A "$disk/traces" 2>/dev/null; exit $code`
		return see(t, work, append([]string{"unshare", "-Urm", "bash", "-c", script, "sh", size, disk, before}, append([]string{changes}, args...)...)...)
	}
	for _, c := range []struct{ size, before, want string }{
		{"64M", `head -c 70M /dev/zero > $disk/filling 2>/dev/null`, "no space left on device"},
		{"64M", `head -c 63M /dev/zero > $disk/filling`, "only 1024 KiB are free there"},
		{"1M", ``, "only 1024 KiB are free there"},
		{"64M", `mount -o remount,ro $disk`, "read-only file system"},
	} {
		got := onDisk(c.size, c.before, "-mark", mark)
		if got.code != 125 || !strings.Contains(got.stderr, "traces cannot be saved in "+disk+"/traces: "+c.want) && !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s %s: %v", c.size, c.before, got)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: the program has run", c.want)
			_ = os.Remove(mark)
		}
	}
	got := onDisk("64M", "", "-fill", disk, "-exit", "6")
	if got.code != 6 || got.stdout != "working\n" || !strings.Contains(got.stderr, "tracerag: the trace cannot be saved in "+disk+"/traces: no space left on device\n") {
		t.Errorf("filled by the program: %v", got)
	}
	rescued(t, got.stderr, 1)
}
