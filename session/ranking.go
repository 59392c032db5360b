package session

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"tracerag/rank"
	"tracerag/trace"
)

// backgroundBytes is how much of the program's modules is read to tell how rare
// words are. It is more than nearly all have, and takes about a second.
const backgroundBytes = 32 << 20

// passingRuns is how many runs that passed are looked at: as many more would
// change nothing, and take their time to read.
const passingRuns = 50

// Rank ranks the functions of views as one run. Of a run that failed, saved runs of
// the same program that passed count, too: [Session.Warn] hears of those that cannot be
// read.
func (s *Session) Rank(question string, views []*View) *rank.Ranking {
	var runs []rank.Run
	e := rank.Evidence{Baselines: views[0].Bases} // which are those of all
	packages := map[string]bool{}
	for _, v := range views {
		v.readAhead()
		runs = append(runs, rank.Run{Trace: v.Trace, Tree: v.Tree, Source: v.Text})
		for _, f := range v.Trace.Functions {
			packages[f.Package] = true
		}
	}
	list := slices.Collect(maps.Keys(packages))
	// Runs that are compared are of one program, or of two builds of it.
	for _, m := range views[0].Sources.Modules(list, backgroundBytes) {
		e.Others = append(e.Others, rank.Texts{ID: m.ID, Functions: m.Functions})
	}
	if s.CacheDir != "" {
		e.Kept = kept{s.CacheDir}
	}
	if len(views) == 1 && failed(views[0].Trace) && s.Store != nil {
		e.Passing = s.passing(views[0])
	}
	return rank.Runs(question, runs, e)
}

// failed reports whether a run is known to have failed.
func failed(t *trace.Trace) bool {
	return !t.Sampled && t.Exit.Known() && (t.Exit.Code != 0 || t.Exit.Signal != "")
}

// passing yields the saved runs of a view's program that did not fail.
func (s *Session) passing(v *View) iter.Seq[*trace.Trace] {
	return func(yield func(*trace.Trace) bool) {
		n := 0
		for sibling, err := range s.Store.Siblings(v.Entry, v.Trace) {
			if err != nil {
				s.warn(fmt.Errorf("not counted among the runs that passed: %w", err))
				continue
			}
			if failed(sibling.Trace) {
				continue
			}
			if !v.alone {
				sibling.Trace, _ = s.Join(sibling.Trace, sibling.Entry)
			}
			if n++; !yield(sibling.Trace) || n == passingRuns {
				return
			}
		}
	}
}

// score returns what a prompt's functions are kept by, worked out when it is
// first asked for; nil if nothing is asked.
func (s *Session) score(question string, views []*View) func(trace.Function) (float64, string) {
	if strings.TrimSpace(question) == "" {
		return nil
	}
	r := sync.OnceValue(func() *rank.Ranking { return s.Rank(question, views) })
	return func(f trace.Function) (float64, string) { return r().Score(f) }
}
