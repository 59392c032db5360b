package probe

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

func find(t *testing.T, name string, include ...string) *target.Target {
	t.Helper()
	tgt, err := target.Find([]string{fixtures.Build(t, name)}, t.TempDir(), include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// A plan is made once for a program and a choice of packages. Neither a damaged
// file nor other runs that write it at the same time change what is planned.
func TestPlanCache(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	first, err := prepare(find(t, "closures"), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := prepare(find(t, "closures"), o)
	if err != nil {
		t.Fatal(err)
	}
	if first.cached || !again.cached || !reflect.DeepEqual(first.plan, again.plan) {
		t.Fatalf("cached %v then %v, plans equal: %v; want false, true, true", first.cached, again.cached, reflect.DeepEqual(first.plan, again.plan))
	}
	others := []struct {
		t *target.Target
		o Options
	}{
		{find(t, "recursion"), o},
		{find(t, "closures", "fmt"), o},
		{find(t, "closures"), Options{CacheDir: o.CacheDir, NoInlined: true}},
	}
	for i, other := range others {
		if p, err := prepare(other.t, other.o); err != nil || p.cached {
			t.Errorf("%d: another program, choice or option: cached %v, error %v", i, p.cached, err)
		}
	}

	file := planPath(t, find(t, "closures"), o)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	for name, data := range map[string][]byte{"changed": damaged, "short": whole[:len(whole)/2], "empty": nil} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := prepare(find(t, "closures"), o)
		if err != nil || p.cached || !reflect.DeepEqual(p.plan, first.plan) {
			t.Errorf("%s file: cached %v, error %v, plan equal: %v", name, p.cached, err, reflect.DeepEqual(p.plan, first.plan))
		}
	}

	tgt := find(t, "closures")
	var wg sync.WaitGroup
	for range 8 {
		own := *tgt // a target is for one goroutine
		wg.Go(func() {
			kept := openKept(t, &own, o)
			defer kept.close()
			kept.save(first.plan)
			if p := kept.load(tgt.Binary); p == nil || !reflect.DeepEqual(p, first.plan) {
				t.Error("a plan that others write at the same time is not read whole")
			}
		})
	}
	wg.Wait()
	left, err := filepath.Glob(filepath.Join(o.CacheDir, "new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v %v", left, err)
	}
}

// A directory that cannot be written costs the next run its plan, and nothing else.
func TestPlanCacheThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := prepare(find(t, "closures"), Options{CacheDir: filepath.Join(file, "plans")})
	if err != nil || p.plan == nil || p.cached {
		t.Errorf("plan %v, cached %v, error %v", p.plan != nil, p.cached, err)
	}
}

// The latest plans are kept. Files that are none are left alone.
func TestPlansAreRemovedByAge(t *testing.T) {
	o := Options{CacheDir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(o.CacheDir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tgt := find(t, "closures")
	p, err := prepare(tgt, o)
	if err != nil {
		t.Fatal(err)
	}
	kept := openKept(t, tgt, o)
	defer kept.close()
	for i := range planFiles + 10 {
		kept.key[0] = byte(i)
		kept.save(p.plan)
	}
	files, err := os.ReadDir(o.CacheDir)
	if err != nil || len(files) != planFiles+1 {
		t.Errorf("%d files are kept, want %d plans and notes (%v)", len(files), planFiles, err)
	}
	if _, err := os.Stat(filepath.Join(o.CacheDir, "notes")); err != nil {
		t.Error(err)
	}
}

// openKept opens the plans where there must be some.
func openKept(t *testing.T, tgt *target.Target, o Options) *plans {
	t.Helper()
	kept, err := openPlans(tgt, o)
	if err != nil || kept == nil {
		t.Fatalf("the directory of plans cannot be used: %v", err)
	}
	return kept
}

// planPath is where the target's plan is kept.
func planPath(t *testing.T, tgt *target.Target, o Options) string {
	t.Helper()
	kept := openKept(t, tgt, o)
	defer kept.close()
	return filepath.Join(o.CacheDir, kept.name())
}

// Programs of one build ID have their own plans each, and each prints its own
// constants, whichever ran first. The first five bytes of answer, which a jump takes the
// place of, are the same in both.
func TestSameBuildID(t *testing.T) {
	build := func(answer string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":  "module example.com/same\n\ngo 1.21\n",
			"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(answer()) }\n\n//go:noinline\nfunc answer() int { return " + answer + " }\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "same")
		cmd := exec.Command("go", "build", "-ldflags=-buildid=redacted", "-o", path, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return path
	}
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	programs := []struct{ path, prints string }{{build("1<<40 + 7"), "1099511627783\n"}, {build("2<<40 + 7"), "2199023255559\n"}}
	for round := range 2 {
		for _, p := range programs {
			tgt, err := target.Find([]string{p.path}, t.TempDir(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tgt.Binary.BuildID != "redacted" {
				t.Fatalf("the build ID is %q", tgt.Binary.BuildID)
			}
			if made, err := prepare(tgt, o); err != nil || made.cached != (round > 0) {
				t.Errorf("round %d, %q: the plan was kept: %v, error %v", round, p.prints, made.cached, err)
			}
			got, tr := recordOutput(t, tgt, o)
			if got != p.prints || recordtest.Counts(tr)["main.answer"] != 1 {
				t.Errorf("round %d: it printed %q, want %q; calls %v", round, got, p.prints, recordtest.Counts(tr))
			}
		}
	}
}

// recordOutput records a target and returns what it printed.
func recordOutput(t *testing.T, tgt *target.Target, o Options) (string, *trace.Trace) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	tgt.Output = out
	tr, err := Record(t.Context(), tgt, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), tr
}

// A plan that says something false of the code, though it decodes, is noticed before
// anything in the process is changed, and another one is made.
func TestFalsePlan(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	tgt := find(t, "closures")
	good, err := prepare(tgt, o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := recordOutput(t, find(t, "closures"), Options{})
	n := 0
	for at, code := range good.plan.Displaced(0) {
		// Not only what the jump takes the place of: the last byte that moves.
		if n++; n%7 != 0 || bytes.Count(good.plan.Encode(), code) != 1 || len(code) < 6 {
			continue
		}
		b := good.plan.Encode()
		b = b[:len(b)-sha256.Size]
		b[bytes.Index(b, code)+len(code)-1] ^= 0x08
		sum := sha256.Sum256(b)
		bad, err := plan.Decode(append(b, sum[:]...))
		if err != nil {
			t.Fatal(err)
		}
		kept := openKept(t, tgt, o)
		kept.save(bad)
		kept.close()
		if p, err := prepare(tgt, o); err != nil || !p.cached {
			t.Fatalf("the false plan is not read: %v", err)
		}
		got, tr := recordOutput(t, find(t, "closures"), o)
		if got != want {
			t.Errorf("with a false plan for the code at %#x it printed\n%s\nwant\n%s", at, got, want)
		}
		for fn, n := range fixtures.Want(t, "closures") {
			if c := recordtest.Counts(tr)[fn]; c != n {
				t.Errorf("with a false plan for the code at %#x: %d calls of %s, want %d", at, c, fn, n)
			}
		}
		if p, err := prepare(tgt, Options{CacheDir: o.CacheDir}); err == nil && p.cached && reflect.DeepEqual(p.plan, bad) {
			t.Error("the false plan is still there")
		}
	}
}

// Nothing is taken for a plan but a file that is regular, ours, nobody else's to write
// and of a plan's size, and nothing that is there instead holds a run up.
func TestPlanFileOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: files of another user are not tried")
	}
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	tgt := find(t, "closures")
	if _, err := prepare(tgt, o); err != nil {
		t.Fatal(err)
	}
	file := planPath(t, tgt, o)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(mode os.FileMode, data []byte) error {
		return errors.Join(os.WriteFile(file, data, mode), os.Chmod(file, mode))
	}
	for _, tt := range []struct {
		name string
		make func() error
		used bool
	}{
		{"as it was", func() error { return write(0o600, whole) }, true},
		{"a fifo", func() error { return unix.Mkfifo(file, 0o600) }, false},
		{"a link to /dev/zero", func() error { return os.Symlink("/dev/zero", file) }, false},
		{"a link to a plan elsewhere", func() error {
			there := filepath.Join(t.TempDir(), "plan")
			return errors.Join(os.WriteFile(there, whole, 0o600), os.Symlink(there, file))
		}, false},
		{"a directory", func() error { return os.Mkdir(file, 0o700) }, false},
		{"writable by all", func() error { return write(0o666, whole) }, false},
		{"writable by its group", func() error { return write(0o620, whole) }, false},
		{"huge", func() error { return errors.Join(write(0o600, whole), os.Truncate(file, 1<<40)) }, false},
		{"garbage", func() error { return write(0o600, bytes.Repeat([]byte("garbage"), 10000)) }, false},
		{"cut by a full disk", func() error { return write(0o600, whole[:len(whole)-100]) }, false},
		{"zeros at its end", func() error { return write(0o600, append(bytes.Clone(whole[:len(whole)-100]), make([]byte, 4096)...)) }, false},
		{"of another program", func() error {
			other := find(t, "recursion")
			_, err := prepare(other, o)
			return errors.Join(err, os.Rename(planPath(t, other, o), file))
		}, false},
		{"another user's", func() error {
			if os.Getuid() != 0 {
				return errors.ErrUnsupported
			}
			return errors.Join(write(0o600, whole), os.Chown(file, 12345, -1))
		}, false},
		{"in a directory that all may write", func() error { return errors.Join(write(0o600, whole), os.Chmod(o.CacheDir, 0o777)) }, false},
		{"in another user's directory", func() error {
			if os.Getuid() != 0 {
				return errors.ErrUnsupported
			}
			return errors.Join(write(0o600, whole), os.Chown(o.CacheDir, 12345, -1))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(); errors.Is(err, errors.ErrUnsupported) {
				t.Skip("for root only")
			} else if err != nil {
				t.Fatal(err)
			}
			done := make(chan *prepared, 1)
			go func() {
				p, err := prepare(find(t, "closures"), o)
				if err != nil {
					t.Error(err)
				}
				done <- p
			}()
			select {
			case p := <-done:
				if p == nil || p.plan == nil || p.cached != tt.used {
					t.Errorf("used: %v, want %v", p != nil && p.cached, tt.used)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits for somebody")
			}
			if err := errors.Join(os.Chown(o.CacheDir, os.Getuid(), -1), os.Chmod(o.CacheDir, 0o700)); err != nil {
				t.Fatal(err)
			}
		})
	}
}
