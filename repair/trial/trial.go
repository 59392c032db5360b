// Package trial judges a change of a Go tree by building it and running its tests in a copy.
//
// [Open] copies the present state of the user's files: what is in git's index as it is
// on disk, and what git neither knows nor ignores. Git is only asked for names. So the
// user's tree and its .git are as before whatever happens to this process, and tests find
// no repository that they could write to. [Trial.Baseline] says what builds, what go vet
// finds and what each test does before any change; [Trial.Judge] what a change makes of it.
//
// A test has passed only if package testing says so: see [observer].
//
// What a command may do is the sandbox's (package sandbox) concern.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tracerag/phrase"
	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
)

// TestID names a test.
type TestID struct {
	Package string // import path
	Name    string // TestX, TestX/a_subtest, FuzzX, ExampleX
}

func (t TestID) String() string { return t.Package + ":" + phrase.Cut(t.Name, maxName) }

// top is the name of the function.
func (t TestID) top() string {
	name, _, _ := strings.Cut(t.Name, "/")
	return name
}

// Options is how a trial is made.
type Options struct {
	Dir     string   // in the module: where the user would run go test
	Scratch string   // for copies and what is kept; "": below the user's cache directory
	Cache   string   // for what the go command builds; "": below Scratch
	Kept    string   // where baselines are kept; "": below Scratch
	Suite   []string // packages whose tests are run in the end; none: ./... of each module
	Flags   []string // for go build and go vet: -tags, -race
	Workers int      // candidates at one time; 0: by the machine's cores
	Runs    int      // of the tests before any change; 0: 3
	Limits  sandbox.Limits
	Environ []string // the user's environment; nil: this process's
	// Alone refuses a tree that names directories outside of it: commands could read them. It is for a tree that
	// somebody else wrote.
	Alone bool

	// Run runs a command: sandbox.Sandbox.Run.
	Run func(context.Context, sandbox.Command) (sandbox.Result, error)
	// Allow says which reasons against a change ([patch.Patch.Weakens]) don't count. nil: none.
	Allow func(patch.Reason) bool
	// Choose chooses the tests that ran what a change changes. Those run before the others. It is asked if the wanted
	// tests pass, by several candidates at once. With an error the step is left out. Tests of packages that
	// are not in the suite don't run: what they do without the change is not known. It may be nil.
	Choose func(context.Context, Choosing) (Choice, error)
	// Progress is called as steps begin, by several goroutines. It may be nil.
	Progress func(step string)
	// Note is called once for each thing that a user should know of this machine. It may be nil.
	Note func(string)
}

// Trial judges changes of one state of a tree. Its methods may be called by several goroutines.
type Trial struct {
	options    Options
	environ    []string
	dir        string // below the scratch directory; removed in the end
	end        func() error
	buildCache string
	goEnv      *toolchain
	tree       *tree
	around     surroundings
	base       *snapshot
	modules    []string // directories within the tree in which go commands run
	observer   *observer

	cold   sync.Once // the user's build cache can't be read
	slots  chan *slot
	mu     sync.Mutex
	before *Baseline
	wanted []TestID // that before is about, beside the suite
	closed bool
}

// slot is a copy in which one candidate is at a time.
type slot struct {
	trial  *Trial
	around string // the directory of the copy and its surroundings
	root   string // the copy
	temp   string // home and temporary files of commands
	out    string // test programs, reports
	made   bool
	n      int
}

// Open copies the present state of the tree around a directory. Close removes the copy;
// what a killed process left is removed by the next Open.
func Open(ctx context.Context, o Options) (_ *Trial, err error) {
	if o.Run == nil {
		return nil, errors.New("trial: no way to run commands: Options.Run is nil")
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("trial: %w", err)
	}
	if o.Dir, err = filepath.EvalSymlinks(o.Dir); err != nil {
		return nil, fmt.Errorf("trial: %w", err)
	}
	if o.Scratch == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("trial: no directory for copies of the tree: %w: set HOME, or XDG_CACHE_HOME", err)
		}
		o.Scratch = filepath.Join(cache, "tracerag", "trials")
	}
	if o.Scratch, err = filepath.Abs(o.Scratch); err != nil {
		return nil, fmt.Errorf("trial: %w", err)
	}
	if o.Kept == "" {
		o.Kept = filepath.Join(o.Scratch, "baselines")
	}
	if o.Limits.Time <= 0 {
		o.Limits.Time = 10 * time.Minute
	}
	if o.Runs <= 0 {
		o.Runs = 3
	}
	if o.Workers <= 0 {
		o.Workers = max(1, runtime.NumCPU()/2)
	}
	t := &Trial{options: o, environ: o.Environ}
	if t.environ == nil {
		t.environ = os.Environ()
	}
	t.progress("copying the tree")
	if t.tree, err = readTree(ctx, o.Dir); err != nil {
		return nil, err
	}
	t.tree.sorted()
	if rel, err := filepath.Rel(t.tree.root, o.Scratch); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("trial: the scratch directory %s is in the tree: choose one outside of %s", o.Scratch, t.tree.root)
	}
	if t.goEnv, err = goEnvironment(ctx, o.Dir, t.environ); err != nil {
		return nil, err
	}
	if t.around, err = look(t.tree.root, t.tree.files, t.goEnv.work); err != nil {
		return nil, err
	}
	if o.Alone && len(t.around.links) > 0 {
		return nil, &NotAloneError{sortedKeys(t.around.links)[0]}
	}
	if t.dir, t.end, err = begin(ctx, o.Scratch); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = t.end()
		}
	}()
	if real, err := filepath.EvalSymlinks(t.dir); err == nil {
		t.dir = real // tests compare names of directories
	}
	if t.buildCache = filepath.Join(o.Cache, "gocache"); o.Cache == "" {
		t.buildCache = filepath.Join(o.Scratch, "build", "gocache")
	}
	if err = os.MkdirAll(t.buildCache, 0o700); err != nil {
		return nil, full(err, o.Scratch)
	}
	if t.base, err = take(ctx, t.tree, filepath.Join(t.dir, "base")); err != nil {
		return nil, err
	}
	if t.modules, err = t.findModules(); err != nil {
		return nil, err
	}
	if t.observer, err = observe(t.goEnv.root, filepath.Join(t.dir, "testing")); err != nil {
		return nil, err
	}
	t.slots = make(chan *slot, o.Workers)
	for i := range o.Workers {
		at := filepath.Join(t.dir, "w"+strconv.Itoa(i))
		t.slots <- &slot{trial: t, around: filepath.Join(at, "tree"), temp: filepath.Join(at, "temp"), out: filepath.Join(at, "out")}
	}
	return t, nil
}

// NotAloneError is the error of a tree that names what is outside of it, where that is refused.
type NotAloneError struct{ Path string }

func (e *NotAloneError) Error() string {
	return fmt.Sprintf("it needs %s, which is outside of the repository", e.Path)
}

// Close removes the copies. Nothing may run any more.
func (t *Trial) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.end()
}

// Hash names the state of the tree that was copied.
func (t *Trial) Hash() string { return t.base.hash }

// verdictVersion is raised when other changes are accepted than before.
const verdictVersion = 2

// Rules names what a verdict depends on, but for the tree, the change and the options.
func (t *Trial) Rules() string {
	return fmt.Sprint(verdictVersion, " ", t.goEnv.version, " ", t.goEnv.settings)
}

// Root is the directory that was copied: the names of a patch's files are relative to it.
func (t *Trial) Root() string { return t.tree.root }

// Left is what was not copied, and what else differs from the user's tree.
func (t *Trial) Left() []string { return append(slices.Clone(t.tree.left), t.around.notes...) }

func (t *Trial) progress(step string) {
	if t.options.Progress != nil {
		t.options.Progress(step)
	}
}

// jobs bounds how much a go command does at once.
func (t *Trial) jobs() string { return "-p=" + strconv.Itoa(t.cores()) }

// cores is how many a candidate has.
func (t *Trial) cores() int { return max(1, runtime.NumCPU()/t.options.Workers) }

// take waits for a free copy.
func (t *Trial) take(ctx context.Context) (*slot, error) {
	select {
	case s := <-t.slots:
		if !s.made {
			root, err := t.around.place(s.around, t.tree.root)
			if err != nil {
				t.slots <- s
				return nil, fmt.Errorf("trial: %w", err)
			}
			s.root, s.made = root, true
		}
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *Trial) release(s *slot) {
	_ = removeAll(s.out)
	_ = removeAll(s.temp)
	t.slots <- s
}

// inCopy is where a file or directory of the user's is in the copy.
func (s *slot) inCopy(name string) string {
	top := s.trial.around.top(s.trial.tree.root)
	if s.trial.around.climb == 0 {
		rel, err := filepath.Rel(s.trial.tree.root, name)
		if err != nil || !filepath.IsLocal(rel) {
			return name
		}
		return filepath.Join(s.root, rel)
	}
	rel, err := filepath.Rel(top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.Join(s.around, rel)
}

// Refused is the error of a patch that does not fit the tree.
type Refused struct{ Why string }

func (e *Refused) Error() string { return "the change doesn't fit the tree: " + e.Why }
