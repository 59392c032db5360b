package session

import (
	"errors"
	"fmt"
	"slices"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/store"
)

// Session opens the traces of a store.
type Session struct {
	Store *store.Store
	// Mask hides secrets in all that is opened; nil leaves them.
	Mask *Masker
	// CacheDir is where what takes long to find out about sources is kept; "": nowhere.
	CacheDir string
	// Warn takes what the user should know and what ends nothing: a [*BaselineGoneError].
	// May be nil.
	Warn func(error)
}

func (s *Session) warn(err error) {
	if s.Warn != nil {
		s.Warn(err)
	}
}

// TreeOptions choose the tree that a trace is seen as. The zero value is the tree of
// calling contexts, without package initialisation, pruned by the run's own baseline.
type TreeOptions struct {
	Mode     calltree.Mode
	KeepInit bool
	MaxNodes int      // of [calltree.Graph]; 0: the default
	Focus    []string // patterns of functions; none: the whole tree
	// Baseline names the trace that the tree is pruned by: "" the one that the run was
	// made with, [NoBaseline] none.
	Baseline string
	// Alone leaves out the processes that the run started.
	Alone bool
	// Compared says that two views are for [Compare]. What a focus is on need be in one of
	// them only.
	Compared   bool
	SourceDirs []string // where sources are looked for, too
	// SourcesBy is how a user names those directories: see [source.Config].
	SourcesBy string
	Shows     Shows // what the masker has to learn from
}

// NoBaseline is the name of no baseline.
const NoBaseline = "none"

// Open loads traces and looks at each. Several are pruned by the same runs, the
// baselines of all of them, so that they compare.
func (s *Session) Open(names []string, o TreeOptions) ([]*View, error) {
	var views []*View
	for _, name := range names {
		tr, e, err := s.Store.Load(name)
		if err == nil {
			err = s.Mask.Err()
		}
		if err != nil {
			return nil, err
		}
		v := &View{Trace: tr, Entry: e}
		if !o.Alone {
			v.Trace, v.bytes = s.Join(tr, e)
		}
		tr, v.Sources = v.Trace, o.sources(v.Trace)
		s.Mask.Learn(tr, v.Sources, o.Shows)
		views = append(views, v)
	}
	for _, v := range views {
		v.Trace = s.Mask.Trace(v.Trace)
	}
	return views, s.Look(views, o)
}

// Look builds the trees of views that have their traces, and prunes and focuses them.
// What the traces hold stays as it is: anyone who shows it has masked it.
func (s *Session) Look(views []*View, o TreeOptions) error {
	baselines, err := s.baselines(views, o)
	if err != nil {
		return err
	}
	missing := 0
	for _, v := range views {
		err := v.look(baselines, o)
		if isA := (*calltree.NotFoundError)(nil); o.Compared && errors.As(err, &isA) {
			if missing++; missing < len(views) {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// baselines loads the runs that are pruned by: the one that is named, or else those
// that the views' runs were made with.
func (s *Session) baselines(views []*View, o TreeOptions) ([]*trace.Trace, error) {
	whole := func(base *trace.Trace, e store.Entry) *trace.Trace {
		if !o.Alone {
			base, _ = s.Join(base, e)
		}
		return s.Mask.Trace(base)
	}
	switch o.Baseline {
	case NoBaseline:
		return nil, nil
	case "":
	default:
		base, e, err := s.Store.LoadBaseline(o.Baseline)
		if err != nil {
			return nil, &BaselineError{Err: err}
		}
		return []*trace.Trace{whole(base, e)}, nil
	}
	var out []*trace.Trace
	var seen []string
	for _, v := range views {
		id := v.Trace.Baseline
		if id == "" || slices.Contains(seen, id) {
			continue
		}
		seen = append(seen, id)
		base, e, err := s.Store.Baselines().Load(id)
		if err != nil {
			base, e, err = s.Store.Load(id)
		}
		if err != nil {
			s.warn(&BaselineGoneError{Baseline: id, Trace: v.Entry.ID})
			continue
		}
		out = append(out, whole(base, e))
	}
	return out, nil
}

// Load loads a trace to be shown whole, rather than as a tree.
func (s *Session) Load(name string) (*trace.Trace, store.Entry, error) {
	tr, e, err := s.Store.Load(name)
	if err != nil {
		return nil, e, err
	}
	tr, err = s.Masked(tr)
	return tr, e, err
}

// Masked returns a trace that is of no store without its secrets, to be shown whole.
func (s *Session) Masked(tr *trace.Trace) (*trace.Trace, error) {
	if err := s.Mask.Err(); err != nil {
		return nil, err
	}
	s.Mask.Learn(tr, Sources(tr, nil), WithoutSources)
	return s.Mask.Trace(tr), nil
}

// Head loads what a trace is without its nodes.
func (s *Session) Head(name string) (*trace.Head, store.Entry, error) {
	h, e, err := s.Store.Head(name)
	if err == nil {
		err = s.Mask.Err()
	}
	if err != nil {
		return nil, e, err
	}
	s.Mask.learnHead(h)
	h.Trace = s.Mask.Trace(h.Trace)
	return h, e, nil
}

// BaselineError says that the baseline that was named cannot be loaded.
type BaselineError struct{ Err error }

func (e *BaselineError) Error() string { return "baseline: " + e.Err.Error() }
func (e *BaselineError) Unwrap() error { return e.Err }

// BaselineGoneError is the warning that a run's own baseline was removed: its tree has
// what the baseline did, too.
type BaselineGoneError struct {
	Baseline string // its id
	Trace    string // the run's
}

func (e *BaselineGoneError) Error() string {
	return fmt.Sprintf("baseline %s of trace %s not found: the tree is not pruned", e.Baseline, e.Trace)
}
