package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tracerag/trace/store"
)

// What cannot take a trace says so before there is one, and why; what can is as it was.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	join := func(name ...string) string { return filepath.Join(append([]string{root}, name...)...) }
	for _, err := range []error{
		os.WriteFile(join("file"), nil, 0o644),
		os.Symlink(join("nowhere"), join("dangling")),
		os.Symlink("loop", join("loop")),
		os.Mkdir(join("there"), 0o755),
		os.Symlink("there", join("link")),
		os.Mkdir(join("closed"), 0o500),
		os.Mkdir(join("blind"), 0o300),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(join("blind"), 0o700) }) // or it cannot be removed
	for _, c := range []struct{ dir, want string }{
		{join("there"), ""},
		{join("link"), ""},
		{join("new"), ""},
		{join("new", "deep", "down"), ""},
		{join("file"), "it is not a directory"},
		{join("file", "below"), "not a directory"},
		{join("dangling"), "it is a link to " + join("nowhere") + ", which does not exist"},
		{join("dangling", "below"), "it is a link to "},
		{join("loop"), "too many levels"},
		{join("closed"), "permission denied"},
		{join("closed", "below"), "permission denied"},
		{join("blind"), "permission denied"},
		{"/proc/tracerag", "/proc"}, // nobody, not even root, makes files there
		{"/proc/self/fd", "/proc"},
	} {
		switch {
		case runtime.GOOS == "windows":
			t.Skip("modes and links of Unix")
		case strings.HasPrefix(c.dir, "/proc") && runtime.GOOS != "linux", c.want == "permission denied" && os.Getuid() == 0:
			continue
		}
		s := store.Open(c.dir)
		err := s.Check()
		var no *store.UnwritableError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.dir, err)
		case c.want == "":
		case !errors.As(err, &no) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cannot be saved in "+c.dir+": "):
			t.Errorf("%s: %v, want %q", c.dir, err, c.want)
		}
		if _, saveErr := s.Save(run("x")); (saveErr == nil) != (err == nil) && c.dir != join("blind") {
			t.Errorf("%s: Check says %v, and Save %v", c.dir, err, saveErr)
		}
	}
}

func TestCheckLeavesNothing(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, store.DirName), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{
		store.Open(filepath.Join(root, store.DirName)),
		store.Open(filepath.Join(root, store.DirName)).Within("baselines"),
		store.Open(filepath.Join(root, "a", "b")),
	} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	var left []string
	if err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		left = append(left, path)
		return err
	}); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestKilledWhileSaving kills a process that saves traces and tries the directory, again and
// again: what is left are whole traces.
func TestKilledWhileSaving(t *testing.T) {
	const endless = "TRACERAG_TEST_SAVE_IN"
	if dir := os.Getenv(endless); dir != "" {
		for s := store.Open(dir); ; {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Save(run("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("files have names from the beginning here")
	}
	dir := filepath.Join(t.TempDir(), store.DirName)
	for range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileSaving$")
		cmd.Env = append(os.Environ(), endless+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s := store.Open(dir)
	list, err := s.List()
	if err != nil || len(list) == 0 {
		t.Fatalf("%d traces, %v", len(list), err)
	}
	for _, e := range list {
		if _, _, err := s.Load(e.Path); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(list)+1 {
		t.Errorf("%d files of %d traces and a .gitignore, %v", len(files), len(list), err)
	}
}

func TestRescue(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	parent := filepath.Join(root, "cache", "tracerag")
	var saved []string
	for range 2 {
		e, err := store.Rescue(run("x"), file, parent)
		if err != nil {
			t.Fatal(err)
		}
		// What is there is a store, private, with a trace that has its id.
		dir := filepath.Dir(e.Path)
		tr, got, err := store.Open(dir).Load("@last")
		if err != nil || got != e || tr.Command[0] != "x" || filepath.Dir(dir) != parent {
			t.Errorf("rescued as %+v, found %+v, %v", e, got, err)
		}
		if fi, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", fi.Mode(), err)
		}
		saved = append(saved, e.Path)
	}
	if filepath.Dir(saved[0]) == filepath.Dir(saved[1]) {
		t.Errorf("two runs share %s", saved[0])
	}
	_, err := store.Rescue(run("x"), file, filepath.Join(file, "below"))
	if err == nil || strings.Count(err.Error(), file) != 2 {
		t.Errorf("nowhere to go: %v", err)
	}
}
