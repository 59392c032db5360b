package store

import (
	"path/filepath"
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

// Bytes is the size of the files that were read.
func (g *Group) Bytes() int64 { return g.bytes }

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
