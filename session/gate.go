package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tracerag/atomicfile"
	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/store"
)

// A gate is a test of behaviour: a run now against one that was found right. What is kept
// of that is its portable trace, a file that changes only when the behaviour does, and so
// can be reviewed and checked in.

// Reference is the run that a gate compares with.
type Reference struct {
	Name  string       // of a trace, or of a file: see [IsFile]
	Trace *trace.Trace // nil: the file has yet to be written
	Entry store.Entry
}

// IsFile reports whether the name of a reference means a file, and not a trace of the
// store.
func IsFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".gz")
}

// NoReferenceError says that the file of a reference is missing.
type NoReferenceError struct{ Path string }

func (e *NoReferenceError) Error() string { return fmt.Sprintf("baseline %s not found", e.Path) }

// Reference loads the run that a gate compares with. It is returned also with a
// [*NoReferenceError].
func (s *Session) Reference(name string) (r *Reference, err error) {
	r = &Reference{Name: name}
	if _, err := os.Stat(name); IsFile(name) && errors.Is(err, fs.ErrNotExist) {
		return r, &NoReferenceError{Path: name}
	}
	if r.Trace, r.Entry, err = s.Load(name); err != nil {
		return r, err
	}
	if r.Trace.Sampled {
		return r, fmt.Errorf("%s is a sampled trace: sampled traces cannot prove that a call is absent", name)
	}
	return r, nil
}

// Gated is a run that went through a gate.
type Gated struct {
	Run   *trace.Trace   // without its secrets
	Views []*View        // the reference, and the run
	Diff  *calltree.Diff // nil: the reference has yet to be written
	Equal bool           // the trees, and how the runs ended
	Notes []string       // what is different beside the trees, which may be why they are
}

// ErrNothingCompared is the error of a gate that leaves out all of both runs.
var ErrNothingCompared = errors.New("nothing is left to compare: this gate would always pass")

// Gate compares a run with a reference, without the processes that they started: the file of
// a reference is of one program. Neither is pruned unless the options name a
// baseline: the file may have left behind the one that its run was made with.
func (s *Session) Gate(r *Reference, tr *trace.Trace, e store.Entry, o TreeOptions, ignore Ignored) (*Gated, error) {
	s.Mask.Learn(tr, o.sources(tr), WithoutSources)
	tr, err := s.Mask.Alone(tr) // also for the file: it is to be checked in
	if err != nil || r.Trace == nil {
		return &Gated{Run: tr}, err
	}
	base, err := s.Mask.Alone(r.Trace)
	if err != nil {
		return nil, err
	}
	if o.Baseline == "" {
		o.Baseline = NoBaseline
	}
	o.Compared, o.Alone = true, true
	g := &Gated{Run: tr, Views: []*View{{Trace: base, Entry: r.Entry}, {Trace: s.Mask.Trace(tr), Entry: e}}}
	if err := s.Look(g.Views, o); err != nil {
		return nil, err
	}
	g.Diff = s.Compare(g.Views[0], g.Views[1], ignore, "")
	if g.Diff.A.Size+g.Diff.B.Size == 0 {
		return nil, ErrNothingCompared
	}
	if was, is := setting(base), setting(tr); was != is {
		g.Notes = append(g.Notes, fmt.Sprintf("the baseline is of %s; this run of %s", was, is))
	}
	if !base.SamePackages(g.Views[1].Trace) {
		g.Notes = append(g.Notes, OtherPackages)
	}
	if base.Exit != tr.Exit {
		g.Notes = append(g.Notes, fmt.Sprintf("%s, and of the baseline %s", tr.Exit, base.Exit))
	}
	g.Equal = g.Diff.Equal() && base.Exit == tr.Exit
	return g, nil
}

// setting is how a run was made.
func setting(tr *trace.Trace) string {
	p := &tr.Program
	return fmt.Sprintf("%s, %s/%s, recorder %s", p.GoVersion, p.GOOS, p.GOARCH, tr.Recorder)
}

// WriteReference writes what of a run is the same everywhere. It is for many to read:
// secrets on the command line are masked.
func (s *Session) WriteReference(path string, tr *trace.Trace) error {
	masked, err := s.Mask.Alone(tr.Portable())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, masked.Write); err != nil {
		return fmt.Errorf("the baseline was not written: %w", err)
	}
	return nil
}
