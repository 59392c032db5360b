// Package job carries out one repair, from a report to a change that tests accept, and keeps all of it
// in a directory, so that one that was broken off goes on where it was.
//
//	DIR/
//	    lock                       who holds it works here
//	    applying.json, applying    the change that is being put in place, and the lock of it
//	    runs/                      which tests ran what, a file for each package
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
	"path/filepath"

	"tracerag/atomicfile"
	"tracerag/filelock"
	"tracerag/locate/guided"
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

	Suite []string `json:"suite,omitempty"` // of [trial.Options], as Flags
	Flags []string `json:"flags,omitempty"`
	// WeakTests accepts changes that weaken tests.
	WeakTests bool `json:"weak_tests,omitempty"`
	// How places are looked for, and how often a model is asked.
	How        guided.How `json:"how,omitempty"`
	Candidates int        `json:"candidates,omitempty"`
	Rounds     int        `json:"rounds,omitempty"`
	// Judged says that somebody's change is judged, and that no repair begins.
	Judged bool `json:"judged,omitempty"`
}

// Options say with what.
type Options struct {
	Spec  Spec
	Kept  string        // directory of all repairs
	Trial trial.Options // but for what the Spec says
	// Record records the test in a copy of the tree, into a store; nil: nothing is recorded.
	// It returns what was printed.
	Record func(context.Context, Recording) (string, error)
	// Choosing has tests chosen by what they run.
	Choosing Choosing
	// Collector makes what collects evidence, from the store of the recorded runs.
	Collector func(*store.Store) *evidence.Collector
	// Repository is the root of the collector's repository.
	Repository string
	// Wait is called if another process works in Kept. It may be nil.
	Wait func()
	Step func(string)
	// Note is called with what the user should know; nil: nobody hears of it.
	Note func(string)
}

// Job is a repair.
type Job struct {
	o      Options
	ID     string
	dir    string
	trial  *trial.Trial
	test   trial.TestID
	unlock func()

	chooser *chooser

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
	j := &Job{o: o, chooser: newChooser()}
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
	if err := finish(ctx, o); err != nil {
		return nil, err
	}
	t := o.Trial
	t.Dir, t.Suite, t.Flags = o.Spec.Dir, o.Spec.Suite, o.Spec.Flags
	t.Allow = func(patch.Reason) bool { return o.Spec.WeakTests }
	t.Kept, t.Progress = filepath.Join(o.Kept, "baselines"), o.Step
	if o.Choosing.Record != nil {
		t.Choose = j.choose
	}
	j.step("copying the tree")
	if j.trial, err = trial.Open(ctx, t); err != nil {
		return nil, err
	}
	if o.Spec.Test != "" {
		if j.test, j.directory, err = j.trial.Resolve(trial.TestID{Package: o.Spec.Package, Name: o.Spec.Test}); err != nil {
			return nil, err
		}
	}
	if j.ID, err = hash(j.trial.Hash(), o.Spec.Report, j.test, o.Spec.Suite, o.Spec.Flags); err != nil {
		return nil, err
	}
	j.dir = filepath.Join(o.Kept, j.ID)
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("repairs: %w", err)
	}
	var begun Spec
	if ok, err := j.read("job.json", &begun); o.Spec.Judged && ok && err == nil && begun.Dir != "" && !begun.Judged {
		return j, nil // a repair that may go on
	}
	return j, j.keep("job.json", o.Spec)
}

// hash names what was made of some things.
func hash(of ...any) (string, error) {
	data, err := json.Marshal(of)
	return fmt.Sprintf("%x", sha256.Sum256(data))[:12], err
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
func (j *Job) Judge(ctx context.Context, p *patch.Patch) (v trial.Verdict, err error) {
	defer func() {
		if err == nil && !v.Accepted && (v.Stage == trial.Packages || v.Stage == trial.Suite) {
			j.chooser.broke.Store(true)
		}
	}()
	// With other limits, or other rules, it may be another verdict.
	key, err := hash(j.trial.Rules(), p.Diff(), j.test, j.o.Trial.Limits, j.o.Spec.WeakTests)
	if err != nil {
		return trial.Verdict{}, err
	}
	name := filepath.Join("verdicts", key+".json")
	if ok, err := j.read(name, &v); ok && v.Given() || err != nil {
		return v, err
	}
	v, err = j.trial.Judge(ctx, *p, j.wanted()...)
	if err != nil {
		return v, err
	}
	return v, j.keep(name, v)
}

// Fix repairs, and keeps the result.
func (j *Job) Fix(ctx context.Context, f *repair.Fixer, task *repair.Task) (*repair.Result, error) {
	g := *f
	g.Judge = j.Judge
	j.chooser.several.Store(j.o.Spec.Candidates > 1 || j.o.Spec.Rounds > 0)
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
