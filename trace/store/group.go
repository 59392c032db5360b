package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/trace"
)

// Group finds the traces of a run's processes: beside the run's trace or in the store, kept
// for the run or as runs of their own.
type Group struct {
	store *Store
	at    map[string]Entry
	read  map[string]*trace.Trace
	bytes int64
	nodes int
}

// Group returns the traces of the processes of a run whose trace is e.
func (s *Store) Group(e Entry) *Group {
	g := &Group{store: s, at: map[string]Entry{}, read: map[string]*trace.Trace{}}
	beside := Open(filepath.Dir(e.Path))
	for _, from := range []*Store{beside.Processes(), s.Processes(), beside, s} {
		list, err := from.List()
		if err != nil {
			continue // what it has is missing, which is said of each process
		}
		for _, of := range list {
			if _, known := g.at[of.ID]; !known {
				g.at[of.ID] = of
			}
		}
	}
	return g
}

// Entry returns where a process's trace is.
func (g *Group) Entry(id string) (e Entry, ok bool) {
	e, ok = g.at[id]
	return e, ok
}

// Load reads the trace of a process. All that are read may take the memory together that a
// file of their size may take: beyond that it is a [*trace.LimitError].
func (g *Group) Load(id string) (*trace.Trace, error) {
	e, ok := g.at[id]
	if !ok {
		return nil, &NotFoundError{Name: id, Dir: g.store.Processes().dir, Have: len(g.at)}
	}
	t := g.read[id]
	if t == nil {
		var err error
		if t, err = g.store.read(e.Path); err != nil {
			return nil, err
		}
		g.read[id] = t
		g.bytes += e.Size
	}
	if err := g.store.Limit.FitsNodes(g.bytes, g.nodes+len(t.Nodes)); err != nil {
		return nil, err
	}
	g.nodes += len(t.Nodes)
	return t, nil
}

// Join returns a run's trace, of which e is the entry, with those of the processes that it
// started, as one ([trace.Trace.Join]), and the size of all their files. Of a run without any
// it is the trace itself. A [*ProcessError] says what could not be read; the trace has the rest.
func (s *Store) Join(t *trace.Trace, e Entry) (*trace.Trace, int64, error) {
	if !slices.ContainsFunc(t.Processes, func(p trace.Process) bool { return p.Trace != "" }) {
		return t, e.Size, nil
	}
	g := s.Group(e)
	parts := make([]*trace.Trace, len(t.Processes))
	var missing *ProcessError
	for i := range t.Processes {
		p := &t.Processes[i]
		if p.Trace == "" {
			continue
		}
		var err error
		if parts[i], err = g.Load(p.Trace); err == nil {
			continue
		}
		if missing == nil {
			missing = &ProcessError{Trace: e.ID, Process: p.Program[strings.LastIndexAny(p.Program, `/\`)+1:] + " " + p.Trace, Err: err}
		}
		missing.Count++
	}
	joined, err := t.Join(parts)
	if err != nil {
		return t, e.Size, &ProcessError{Trace: e.ID, Count: len(t.Processes), Err: err}
	}
	if missing != nil {
		return joined, e.Size + g.bytes, missing
	}
	return joined, e.Size + g.bytes, nil
}

// ProcessError says that the traces of some of a run's processes cannot be read, and that
// their calls are not shown.
type ProcessError struct {
	Trace   string // the run's
	Process string // the first of them: its program and its trace; "": all
	Count   int
	Err     error // why, of that one
}

func (e *ProcessError) Error() string {
	why := e.Err.Error()
	if missing, ok := e.Err.(*NotFoundError); ok {
		why = fmt.Sprintf("it is not in %s", missing.Dir)
	}
	if e.Process == "" {
		return fmt.Sprintf("trace %s: the calls of its processes are not shown: %s", e.Trace, why)
	}
	line := fmt.Sprintf("trace %s: the calls of process %s are not shown: %s", e.Trace, e.Process, why)
	if e.Count > 1 {
		line += fmt.Sprintf(" (and of %d more)", e.Count-1)
	}
	return line
}

func (e *ProcessError) Unwrap() error { return e.Err }

// RemoveRuns deletes traces of the store with the conversations about them, and with those of
// their processes that no other trace lists. It calls removed for each, if that is not nil.
func (s *Store) RemoveRuns(entries []Entry, removed func(Entry)) error {
	orphans, err := s.orphans(entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// The processes first: when one cannot be deleted, the name of the run still finds
		// the rest for another try.
		for _, p := range orphans[e.Path] {
			if err := s.Processes().Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := s.Remove(e); err != nil {
			return err
		}
		if removed != nil {
			removed(e)
		}
	}
	return nil
}

// orphans returns, by the path of each entry, the traces of its processes that are in no
// list of another trace.
func (s *Store) orphans(entries []Entry) (map[string][]Entry, error) {
	listed := func(e Entry) (ids []string) {
		h, err := readFile(e.Path, s.Limit.ReadHead)
		if err != nil {
			return nil // damaged: nobody can look at its processes
		}
		for _, p := range h.Trace.Processes {
			if p.Trace != "" {
				ids = append(ids, p.Trace)
			}
		}
		return ids
	}
	list, err := s.Processes().List()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range list {
		known[e.ID] = true
	}
	of := map[string]string{} // by id of a process: the path of the entry that lists it
	gone := map[string]bool{}
	for _, e := range entries {
		gone[e.Path] = true
		for _, id := range listed(e) {
			if known[id] && of[id] == "" {
				of[id] = e.Path
			}
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	for _, from := range []*Store{s, s.Baselines()} {
		others, err := from.List()
		if err != nil {
			return nil, err
		}
		for _, e := range others {
			if !gone[e.Path] {
				for _, id := range listed(e) {
					delete(of, id)
				}
			}
		}
	}
	orphans := map[string][]Entry{}
	for _, e := range list {
		if path := of[e.ID]; path != "" {
			orphans[path] = append(orphans[path], e)
		}
	}
	return orphans, nil
}

// findProcess finds the trace of a process by its id.
func (s *Store) findProcess(name string) (Entry, bool) {
	if len(name) != idLen {
		return Entry{}, false
	}
	list, err := s.Processes().List()
	if err != nil {
		return Entry{}, false
	}
	for _, e := range list {
		if e.ID == strings.ToLower(name) {
			return e, true
		}
	}
	return Entry{}, false
}
