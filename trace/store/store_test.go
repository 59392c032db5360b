package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"tracerag/trace"
	"tracerag/trace/store"
)

// run returns a small trace; traces of different commands differ.
func run(command string) *trace.Trace {
	t := &trace.Trace{Recorder: "breakpoint", Command: []string{command}}
	b := trace.NewBuilder(t)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(trace.Function{Name: "main.main", Package: "main"})}}, 1)
	return b.Finish()
}

func save(t *testing.T, s *store.Store, command string) store.Entry {
	t.Helper()
	e, err := s.Save(run(command))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// place writes an empty file with the name of a trace of that id, saved in the
// given second.
func place(t *testing.T, dir string, second int, id string) {
	t.Helper()
	name := fmt.Sprintf("20260102-0304%02d.000-%s.pb.gz", second, id)
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLocate(t *testing.T) {
	root := t.TempDir()
	mod, inner := filepath.Join(root, "mod"), filepath.Join(root, "mod", "a", "b")
	odd := filepath.Join(root, "odd", "go.mod") // a directory of that name makes no module
	for _, d := range []string{inner, odd, filepath.Join(root, "free")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(mod, "go.mod"), []byte("module m\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, flag, env, cwd, want string }{
		{"the module's root", "", "", inner, filepath.Join(mod, ".tracerag")},
		{"in the root itself", "", "", mod, filepath.Join(mod, ".tracerag")},
		{"no module", "", "", filepath.Join(root, "free"), filepath.Join(root, "free", ".tracerag")},
		{"go.mod is a directory", "", "", filepath.Dir(odd), filepath.Join(filepath.Dir(odd), ".tracerag")},
		{"environment", "", root, inner, root},
		{"relative environment", "", "traces", inner, filepath.Join(inner, "traces")},
		{"flag before environment", "x/../y", root, inner, filepath.Join(inner, "y")},
	} {
		got, err := store.Locate(c.flag, c.env, c.cwd)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(mod, ".tracerag")); !os.IsNotExist(err) {
		t.Error("Locate made the directory")
	}
}

func TestSaveKeepsARunPrivateAndOutOfGit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", ".tracerag")
	s := store.Open(dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatal("Open made the directory")
	}
	e := save(t, s, "./app")
	if ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(ignore) != "*\n" {
		t.Errorf(".gitignore: %q, %v", ignore, err)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{dir: 0o700, e.Path: 0o600} {
			fi, err := os.Stat(path)
			if err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: mode %v, %v, want %v", path, fi.Mode().Perm(), err, want)
			}
		}
	}
	got, at, err := s.Load("@last")
	if err != nil || at != e || !reflect.DeepEqual(got, run("./app")) {
		t.Errorf("loaded %+v from %+v, %v; saved to %+v", got, at, err, e)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 2 {
		t.Errorf("files left: %v", files)
	}
	if out, err := exec.Command("go", "tool", "pprof", "-top", e.Path).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("main.main")) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
}

// A directory that the user chose may hold other things: git goes on seeing them.
func TestSaveIntoADirectoryOfOthers(t *testing.T) {
	dir := t.TempDir()
	save(t, store.Open(dir), "./app")
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); !os.IsNotExist(err) {
		t.Errorf("a .gitignore in a directory that was there before: %v", err)
	}
}

// A directory made by hand, or by an older run, is ours when it has our name.
func TestSaveIntoADirectoryOfOurName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), store.DirName)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ignore := filepath.Join(dir, ".gitignore")
	save(t, store.Open(dir), "first")
	if got, err := os.ReadFile(ignore); err != nil || string(got) != "*\n" {
		t.Errorf(".gitignore: %q, %v", got, err)
	}
	if err := os.WriteFile(ignore, []byte("*.json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	save(t, store.Open(dir), "second")
	if got, err := os.ReadFile(ignore); err != nil || string(got) != "*.json\n" {
		t.Errorf("the user's .gitignore was replaced by %q, %v", got, err)
	}
}

func TestAStoreWithinAnother(t *testing.T) {
	outer := store.Open(filepath.Join(t.TempDir(), "traces"))
	inner := outer.Within("baselines")
	e := save(t, inner, "app --version") // before anything is in the outer one
	if got, err := os.ReadFile(filepath.Join(outer.Dir(), ".gitignore")); err != nil || string(got) != "*\n" {
		t.Errorf("the outer store's .gitignore: %q, %v", got, err)
	}
	if list, err := outer.List(); err != nil || len(list) != 0 {
		t.Errorf("the outer store lists %v, %v", list, err)
	}
	if got, err := inner.Find("@last"); err != nil || got != e {
		t.Errorf("found %v, %v, want %v", got, err, e)
	}
}

func TestSaveSaysWhyItCannot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "sub")} {
		_, err := store.Open(dir).Save(run("x"))
		if !errors.As(err, new(*store.UnwritableError)) || !strings.Contains(err.Error(), "not a directory") && runtime.GOOS != "windows" {
			t.Errorf("%s: %v", dir, err)
		}
	}
	bad := run("x")
	bad.Nodes[0].Calls = -1
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := store.Open(dir).Save(bad); err == nil {
		t.Error("a malformed trace was saved")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("a trace that cannot be written made a directory")
	}
}

func TestConcurrentSavesDoNotClash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	const n = 24
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := store.Open(dir).Save(run(fmt.Sprint("app", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := store.Open(dir)
	list, err := s.List()
	if err != nil || len(list) != n {
		t.Fatalf("%d traces listed, %v, want %d", len(list), err, n)
	}
	for _, e := range list {
		if _, _, err := s.Load(e.Path); err != nil {
			t.Error(err)
		}
	}
}

func TestTheLastSavedIsTheLastListed(t *testing.T) {
	s := store.Open(t.TempDir())
	var want []store.Entry
	for i := range 20 { // more than fit into different milliseconds
		want = append(want, save(t, s, fmt.Sprint("app", i)))
	}
	if got, err := s.List(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("listed %v, %v, saved %v", got, err, want)
	}
}

func TestListSkipsWhatIsNotATrace(t *testing.T) {
	dir := t.TempDir()
	s := store.Open(dir)
	if list, err := store.Open(filepath.Join(dir, "none")).List(); err != nil || len(list) != 0 {
		t.Errorf("no directory: %v, %v", list, err)
	}
	e := save(t, s, "good")
	place(t, dir, 1, "deadbeef") // named so, and damaged
	for _, name := range []string{
		"notes.txt", "cpu.pb.gz", "20260102-030405.123-ab12cd3.pb.gz", "20260102-030405,123-ab12cd34.pb.gz",
		"20260102-030405.123-AB12CD34.pb.gz", "20261302-030405.123-ab12cd34.pb.gz", ".saving-123", "x.ask-1.json", ".ask-001.json",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "20260102-030405.123-ab12cd34.pb.gz"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].ID != "deadbeef" || list[1] != e {
		t.Fatalf("listed %v, %v", list, err)
	}
	if want := time.Date(2026, 1, 2, 3, 4, 1, 0, time.UTC); !list[0].Saved.Equal(want) {
		t.Errorf("saved %v, want %v", list[0].Saved, want)
	}
	if _, _, err := s.Load("deadbeef"); err == nil || !strings.Contains(err.Error(), "-deadbeef.pb.gz: the file is empty") {
		t.Errorf("a damaged trace: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	s := store.Open(dir)
	for i, id := range []string{"00000001", "ab12cd34", "ab12ff00", "c0ffee00", "ab12cd34", "feedf00d"} {
		place(t, dir, i, id)
	}
	if err := os.WriteFile("elsewhere.pb.gz", []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	const at = "20260102-0304"
	for _, c := range []struct{ name, want, err string }{
		{"@last", at + "05.000-feedf00d", ""},
		{"", at + "05.000-feedf00d", ""},
		{"@-0", at + "05.000-feedf00d", ""},
		{"@prev", at + "04.000-ab12cd34", ""},
		{"@-5", at + "00.000-00000001", ""},
		{"@-6", "", "did you mean @-5, the oldest?"},
		{"@-", "", "name one by its id"},
		{"@lsat", "", "did you mean @last?"},
		{"@perv", "", "did you mean @prev?"},
		{"last", "", "did you mean @last?"},
		{"feedf00d", at + "05.000-feedf00d", ""},
		{"FEED", at + "05.000-feedf00d", ""},
		{"f", "", "its first 2 digits or more"},
		{"fe", at + "05.000-feedf00d", ""},
		{"ab12cd34", at + "04.000-ab12cd34", ""}, // equal traces: the later
		{"ab12c", at + "04.000-ab12cd34", ""},
		{"ab", "", "ab begins the ids of 2 traces: ab12cd34 (saved 2026-01-02 03:04:04 UTC), ab12ff00 (saved 2026-01-02 03:04:02 UTC): give more digits"},
		{"ab21cd34", "", "did you mean ab12cd34"},
		{"c0ffe00", "", "did you mean c0ffee00"},
		{at + "03.000-c0ffee00", at + "03.000-c0ffee00", ""},
		{at + "03.000-c0ffee00.pb.gz", at + "03.000-c0ffee00", ""},
		{filepath.Join(dir, at+"03.000-c0ffee00.pb.gz"), at + "03.000-c0ffee00", ""},
		{"elsewhere.pb.gz", "elsewhere", ""},
		{"./elsewhere.pb.gz", "elsewhere", ""},
		{"./none.pb.gz", "", "no trace at ./none.pb.gz: the file does not exist"},
		{dir + "/", "", "not a regular file"},
		{"elsewhere", "", "`tracerag list` shows all 6"},
	} {
		e, err := s.Find(c.name)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want an error with %q", c.name, err, c.err)
			}
			continue
		}
		if got := strings.TrimSuffix(filepath.Base(e.Path), ".pb.gz"); err != nil || got != c.want {
			t.Errorf("%q: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	e, err := s.Find("elsewhere.pb.gz")
	if err != nil || e.ID != "ba7816bf" || e.Size != 3 { // the published SHA-256 of "abc"
		t.Errorf("a file elsewhere: %+v, %v", e, err)
	}
}

func TestAnEmptyStoreSaysHowToFillIt(t *testing.T) {
	s := store.Open(filepath.Join(t.TempDir(), "none"))
	for _, name := range []string{"@last", "", "@-3", "ab12", "name"} {
		_, err := s.Find(name)
		var missing *store.NotFoundError
		if !errors.As(err, &missing) || missing.Have != 0 || !strings.Contains(err.Error(), "is empty; make one: `tracerag run -- ./app`") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLoadOfAForeignProfileNamesImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, err = store.Open(t.TempDir()).Load(path)
	if !errors.Is(err, trace.ErrForeign) || !strings.Contains(err.Error(), "`tracerag import "+path+"`") {
		t.Errorf("%v", err)
	}
}

func TestRemoveTakesTheAnswersToo(t *testing.T) {
	dir := t.TempDir()
	s := store.Open(dir)
	kept, gone := save(t, s, "kept"), save(t, s, "gone")
	for _, e := range []store.Entry{kept, gone, gone} {
		if _, err := s.SaveAnswer(e, store.Conversation{Answer: "42"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(gone); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 2 || !strings.HasPrefix(files[0].Name(), strings.TrimSuffix(filepath.Base(kept.Path), ".pb.gz")) {
		t.Errorf("left: %v", files)
	}
	if err := s.Remove(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}

	outside := filepath.Join(t.TempDir(), filepath.Base(kept.Path))
	if err := os.Rename(kept.Path, outside); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(store.Entry{Path: outside}); err == nil || !strings.Contains(err.Error(), "delete the file itself") {
		t.Errorf("a file outside the store: %v", err)
	}
}
