package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"tracerag/trace"
	"tracerag/trace/store"
)

// AskAll sends a request to the recordings of several processes at once, none meaning all, and
// returns what came of it in each that did it, in their order. The error names the others.
func AskAll(pids []int, q Request) ([]Event, error) {
	if len(pids) == 0 {
		var err error
		if pids, err = recordings(); err != nil {
			return nil, err
		}
		if len(pids) == 0 {
			return nil, &ProcessError{}
		}
	}
	events, failed := make([]Event, len(pids)), make([]error, len(pids))
	var all sync.WaitGroup
	for i, pid := range pids {
		all.Go(func() { events[i], failed[i] = Ask(pid, q) })
	}
	all.Wait()
	var done []Event
	for i, e := range events {
		if failed[i] == nil {
			done = append(done, e)
		} else if len(pids) > 1 {
			failed[i] = fmt.Errorf("process %d: %w", pids[i], failed[i])
		}
	}
	return done, errors.Join(failed...)
}

// window is one of several that were taken at once.
type window struct {
	trace, before *trace.Trace // before is its baseline; nil: none
	entry         store.Entry
	from          *store.Store
}

// GroupWindows makes one group of the windows of several programs that were taken at once: the
// first lists the others as processes that none of them started. Their traces move into s.
func GroupWindows(s *store.Store, saved []WindowSaved) (WindowSaved, error) {
	var windows []window
	for _, w := range saved {
		from := store.Open(filepath.Dir(w.Path))
		tr, e, err := from.Load(w.Path)
		if err != nil {
			return WindowSaved{}, err
		}
		of := window{trace: tr, entry: e, from: from}
		if tr.Baseline != "" {
			if of.before, _, err = from.Baselines().Load(tr.Baseline); err != nil {
				return WindowSaved{}, err
			}
		}
		windows = append(windows, of)
	}
	first := windows[0]
	base, err := groupBefore(s, windows)
	if err != nil {
		return WindowSaved{}, err
	}
	root, parts := *first.trace, []*trace.Trace{}
	root.Baseline = base
	for _, w := range windows[1:] {
		if err := listIn(s, &root, w.trace); err != nil {
			return WindowSaved{}, err
		}
		parts = append(parts, w.trace)
	}
	e, err := s.Save(&root)
	if err != nil {
		return WindowSaved{}, err
	}
	for _, w := range windows { // saved by themselves before
		if err := w.from.Remove(w.entry); err != nil {
			return WindowSaved{}, err
		}
	}
	whole, err := root.Join(parts)
	if err != nil {
		return WindowSaved{}, err
	}
	return WindowSaved{Name: root.Name, Trace: nameOf(s, e), Path: e.Path, Calls: whole.Calls(), Functions: len(whole.Functions), Duration: root.Duration}, nil
}

// groupBefore saves what the programs did to start as one baseline, and returns its id; "" if
// they have none.
func groupBefore(s *store.Store, windows []window) (string, error) {
	before := &trace.Trace{Name: trace.StartUp, Recorder: windows[0].trace.Recorder, Command: windows[0].trace.Command, Program: windows[0].trace.Program}
	if b := windows[0].before; b != nil {
		copied := *b
		before = &copied
	}
	found := windows[0].before != nil
	for _, w := range windows[1:] {
		if w.before == nil {
			continue
		}
		found = true
		if err := listIn(s, before, w.before); err != nil {
			return "", err
		}
	}
	if !found {
		return "", nil
	}
	e, err := s.Baselines().Save(before)
	return e.ID, err
}

// listIn saves a trace as that of a process of another.
func listIn(s *store.Store, root, tr *trace.Trace) error {
	e, err := s.Processes().Save(tr)
	if err == nil {
		root.Processes = append(root.Processes, trace.Process{Program: tr.Program.Path, Command: tr.Command, Before: len(root.Nodes), Trace: e.ID, Calls: tr.Calls()})
	}
	return err
}
