// Package job carries out one repair, from a report to a change that tests accept, and keeps all of it
// in a directory, so that one that was broken off goes on where it was.
//
//	DIR/
//	    lock                       who holds it works here
//	    ID/                        a repair: ID is a hash of the tree, the report and the test
//	        job.json               what was asked for
//	        traces/                recorded runs of the test, a store of traces
//	        verdicts/KEY.json      what the trial said of a change
//	        baseline-*.json        what the tests do before any change
//	        result.json            candidates, verdicts, what was chosen
//	        change.diff            the change
//	        prompt.md              what a model is asked
//
// The tree is read and copied, never written. What is kept has source code: it is readable by
// its owner alone.
package job

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tracerag/atomicfile"
	"tracerag/filelock"
	"tracerag/repair"
	"tracerag/repair/evidence"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/trace/store"
)

// Spec is what is asked for.
type Spec struct {
	Report  string `json:"report"`
	Package string `json:"package,omitempty"` // of the test: an import path, or a directory as the go command has it
	Test    string `json:"test,omitempty"`    // that fails; "": one is written from the report
	Dir     string `json:"dir"`               // where the go command would be run
}

// Options say with what.
type Options struct {
	Spec  Spec
	Kept  string // directory of all repairs
	Trial trial.Options
	// Record records the test in a copy of the tree, into a store; nil: nothing is recorded.
	// It returns what was printed.
	Record func(context.Context, Recording) (string, error)
	// Collector makes what collects evidence, from the store of the recorded runs.
	Collector func(*store.Store) *evidence.Collector
	// Below is where the collector's repository is in the trial's tree, as a slash path.
	Below func(root string) (string, error)
	// Wait is called if another process works in Kept; nil: nobody hears of it.
	Wait func()
	Step func(string)
}

// Recording is a run to be recorded.
type Recording struct {
	Copy      *trial.Copy
	Directory string // of the test's package, a slash path in the copy
	Store     string // directory of the traces
	Test      string
	// Siblings are other tests of the same file: what they call tells what only the failing one does.
	// Each test is a trace of its own then.
	Siblings []string
}

// Job is a repair.
type Job struct {
	o      Options
	ID     string
	dir    string
	trial  *trial.Trial
	test   trial.TestID
	unlock func()

	directory string // of the test's package, a slash path in the tree
	// The test, if it was written from the report.
	also       *patch.Patch
	reproduced repair.Test
}

// Open copies the tree and finds out what is known of the repair.
func Open(ctx context.Context, o Options) (_ *Job, err error) {
	if err := os.MkdirAll(o.Kept, 0o700); err != nil {
		return nil, fmt.Errorf("repairs: %w", err)
	}
	j := &Job{o: o}
	if err := replace(filepath.Join(o.Kept, ".gitignore"), []byte("*\n")); err != nil {
		return nil, err
	}
	if j.unlock, err = filelock.Wait(ctx, filepath.Join(o.Kept, "lock"), o.Wait); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	t := o.Trial
	t.Dir, t.Kept = o.Spec.Dir, filepath.Join(o.Kept, "baselines")
	t.Progress = o.Step
	j.step("copying the tree")
	if j.trial, err = trial.Open(ctx, t); err != nil {
		return nil, err
	}
	data, err := json.Marshal([]any{j.trial.Hash(), o.Spec.Report, o.Spec.Package, o.Spec.Test, t.Suite, t.Flags})
	if err != nil {
		return nil, err
	}
	j.ID = fmt.Sprintf("%x", sha256.Sum256(data))[:12]
	j.dir = filepath.Join(o.Kept, j.ID)
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("repairs: %w", err)
	}
	if o.Spec.Test != "" {
		if j.test, j.directory, err = j.trial.Resolve(trial.TestID{Package: o.Spec.Package, Name: o.Spec.Test}); err != nil {
			return nil, err
		}
	}
	return j, j.keep("job.json", o.Spec)
}

// Close removes the copies, and lets others work.
func (j *Job) Close() error {
	var err error
	if j.trial != nil {
		err = j.trial.Close()
	}
	if j.unlock != nil {
		j.unlock()
	}
	return err
}

func (j *Job) step(what string) {
	if j.o.Step != nil {
		j.o.Step(what)
	}
}

// Left is what the trial's copy lacks.
func (j *Job) Left() []string { return j.trial.Left() }

// Root is the directory that changes are for.
func (j *Job) Root() string { return j.trial.Root() }

// Path is the path of something that is kept.
func (j *Job) Path(name string) string { return filepath.Join(j.dir, name) }

// Baseline says what the tests do before any change.
func (j *Job) Baseline(ctx context.Context) (*trial.Baseline, error) {
	j.step("running the tests before any change")
	return j.trial.Baseline(ctx, j.wanted()...)
}

func (j *Job) wanted() []trial.TestID {
	if j.test.Name == "" {
		return nil
	}
	return []trial.TestID{j.test}
}

// Judge says whether a change is right. The same change is judged once.
func (j *Job) Judge(ctx context.Context, p *patch.Patch) (trial.Verdict, error) {
	key := fmt.Sprintf("%x", sha256.Sum256(p.Diff()))[:24]
	name := filepath.Join("verdicts", key+".json")
	var v trial.Verdict
	if ok, err := j.read(name, &v); ok || err != nil {
		return v, err
	}
	v, err := j.trial.Judge(ctx, *p, j.wanted()...)
	if err != nil {
		return v, err
	}
	return v, j.keep(name, v)
}

// Fix repairs, and keeps the result.
func (j *Job) Fix(ctx context.Context, f *repair.Fixer, task *repair.Task) (*repair.Result, error) {
	g := *f
	g.Judge = j.Judge
	if j.o.Record != nil && task.Run != "" {
		g.Parts = j.parts
	}
	r, err := g.Fix(ctx, task)
	if r == nil {
		return nil, err
	}
	if kept := j.keep("result.json", r); kept != nil && err == nil {
		err = kept
	}
	if r.Chosen != nil {
		if kept := replace(j.Path("change.diff"), []byte(r.Chosen.Diff)); kept != nil && err == nil {
			err = kept
		}
	}
	return r, err
}

func (j *Job) keep(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return replace(j.Path(name), append(data, '\n'))
}

func replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("repairs: %w", err)
	}
	return atomicfile.Save(file, data)
}

// read reads what was kept. What is damaged is made again.
func (j *Job) read(name string, v any) (bool, error) {
	data, err := os.ReadFile(j.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return json.Unmarshal(data, v) == nil, nil
}

// Evidence records the failing test and says what it is about. With an error there may be what was found
// until then.
func (j *Job) Evidence(ctx context.Context) (*evidence.Found, error) {
	traces := store.Open(j.Path("traces"))
	if err := os.MkdirAll(traces.Dir(), 0o700); err != nil {
		return nil, err
	}
	c := j.o.Collector(traces)
	var test repair.Test
	if j.test.Name != "" {
		var err error
		if test, err = j.wantedTest(ctx); err != nil {
			return nil, err
		}
	}
	run, recorded := "", error(nil)
	if j.o.Record != nil && test.Name != "" {
		run, recorded = j.record(ctx, traces, j.base(), "before", test.Siblings)
		if recorded != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	j.step("looking for the places")
	found, err := c.Collect(ctx, j.o.Spec.Report, test, run, j.trial.Root())
	if found == nil {
		return nil, err
	}
	found.Task.Also = j.also
	if recorded != nil {
		found.Notes = append(found.Notes, fmt.Sprintf("the test was not recorded, so the source alone tells: %v", recorded))
	}
	if below, wrong := j.o.Below(j.trial.Root()); wrong == nil {
		for i := range found.Task.Places {
			p := &found.Task.Places[i]
			p.File = path.Join(below, p.File)
		}
	} else if err == nil {
		err = wrong
	}
	return found, err
}

// base is the tree with the test that was written from the report.
func (j *Job) base() patch.Patch {
	if j.also == nil {
		return patch.Patch{}
	}
	return *j.also
}

// Reproduce has a test written from the report, which is the wanted one from then on, and part of each
// change. found is the evidence without a test.
func (j *Job) Reproduce(ctx context.Context, f *repair.Fixer, found *evidence.Found) (*repair.Reproduction, error) {
	if len(found.Task.Places) == 0 {
		return nil, repair.ErrNoPlace
	}
	directory := path.Dir(found.Task.Places[0].File)
	r, err := f.Reproduce(ctx, found.Task, func(ctx context.Context, p *patch.Patch, t repair.Test) (bool, string, error) {
		output, err := j.output(ctx, *p, directory, t.Name)
		return strings.Contains(output, "--- FAIL: "+t.Name) || strings.Contains(output, "\npanic: ") || strings.HasPrefix(output, "panic: "), output, err
	})
	if err != nil {
		return nil, err
	}
	w, _, err := j.trial.Resolve(trial.TestID{Package: directoryOf(j.trial.Root(), j.o.Spec.Dir, directory), Name: r.Test.Name})
	if err != nil {
		return nil, err
	}
	r.Test.Package = w.Package
	j.test, j.directory, j.also, j.reproduced = w, directory, r.Patch, r.Test
	return r, replace(j.Path("test.go.txt"), []byte(r.Test.Source))
}

// directoryOf names a directory of the tree as the go command would be told in another one.
func directoryOf(root, from, directory string) string {
	rel, err := filepath.Rel(from, filepath.Join(root, filepath.FromSlash(directory)))
	if err != nil {
		return directory
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

// wantedTest reads the wanted test's source, and how it fails.
func (j *Job) wantedTest(ctx context.Context) (repair.Test, error) {
	if j.also != nil {
		return j.reproduced, nil
	}
	entries, err := os.ReadDir(filepath.Join(j.trial.Root(), filepath.FromSlash(j.directory)))
	if err != nil {
		return repair.Test{}, err
	}
	var files []string
	for _, e := range entries {
		files = append(files, path.Join(j.directory, e.Name()))
	}
	t, err := evidence.TestOf(j.trial.Root(), j.directory, j.test.Package, j.test.Name, files)
	if err != nil {
		return t, err
	}
	t.Output, err = j.output(ctx, patch.Patch{}, j.directory, j.test.Name)
	return t, err
}

// output is what the wanted test prints, with a patch.
func (j *Job) output(ctx context.Context, p patch.Patch, directory, test string) (output string, err error) {
	j.step("running " + test)
	err = j.trial.Use(ctx, p, func(c *trial.Copy) error {
		_, output, err = c.Run(ctx, directory, []string{c.Go(), "test", "-count=1", "-vet=off", "-run=" + Pattern(test), "."}, nil)
		return err
	})
	return timeless(output), err
}

var (
	took  = regexp.MustCompile(`(?m)^(\s*--- [A-Z]+: .*) \(\d+\.\d+s\)$`)
	total = regexp.MustCompile(`(?m)^((?:ok  |FAIL)\t\S+)\t\d+\.\d+s$`)
)

// timeless takes the times out of what go test prints: equal failures make equal questions, whose
// answers are kept.
func timeless(output string) string {
	return total.ReplaceAllString(took.ReplaceAllString(output, "$1"), "$1")
}

// Pattern is the -run of a test's name.
func Pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// record records the wanted test in a copy with a patch, once, and returns the name of its trace.
func (j *Job) record(ctx context.Context, traces *store.Store, p patch.Patch, name string, siblings []string) (string, error) {
	kept := filepath.Join("runs", name+".json")
	var trace string
	if ok, err := j.read(kept, &trace); ok && err == nil {
		if _, err := traces.Find(trace); err == nil {
			return trace, nil
		}
	}
	j.step("recording " + j.test.Name)
	before, err := traces.List()
	if err != nil {
		return "", err
	}
	said := ""
	err = j.trial.Use(ctx, p, func(c *trial.Copy) error {
		said, err = j.o.Record(ctx, Recording{Copy: c, Directory: j.directory, Store: traces.Dir(), Test: j.test.Name, Siblings: siblings})
		return err
	})
	if err != nil {
		return "", err
	}
	after, err := traces.List()
	if err != nil {
		return "", err
	}
	top, _, _ := strings.Cut(j.test.Name, "/")
	for _, e := range slices.Backward(after) {
		if slices.ContainsFunc(before, func(b store.Entry) bool { return b.ID == e.ID }) {
			continue
		}
		tr, _, err := traces.Load(e.ID)
		if err != nil {
			return "", err
		}
		if tr.Test.Name == "" || tr.Test.Name == top {
			return e.ID, j.keep(kept, e.ID)
		}
	}
	return "", fmt.Errorf("no trace was saved: %s", lastLine(said))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// parts says where the run of the wanted test with a change parts from the run before it.
func (j *Job) parts(ctx context.Context, p *patch.Patch) (string, error) {
	traces := store.Open(j.Path("traces"))
	before, err := j.record(ctx, traces, j.base(), "before", nil)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%x", sha256.Sum256(p.Diff()))[:24]
	after, err := j.record(ctx, traces, *p, key, nil)
	if err != nil {
		return "", err
	}
	return j.o.Collector(traces).Differences(before, after, j.trial.Root())
}
