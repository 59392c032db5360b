package store

import (
	"strings"

	"tracerag/trace"
)

// Baselines returns the store of the runs that were made only to prune others by: they
// are no runs that @last and @prev should mean.
func (s *Store) Baselines() *Store { return s.Within("baselines") }

// Processes returns the store of what runs started: each is listed by the run's trace and
// is no run of its own.
func (s *Store) Processes() *Store { return s.Within("processes") }

// LoadBaseline loads a trace of the store, or by its id one of [Store.Baselines].
func (s *Store) LoadBaseline(name string) (*trace.Trace, Entry, error) {
	tr, e, err := s.Load(name)
	if err == nil {
		return tr, e, nil
	}
	if tr, e, found := s.Baselines().Load(name); found == nil && e.ID == strings.ToLower(name) {
		return tr, e, nil
	}
	return nil, Entry{}, err
}
