package locate

import (
	"fmt"
	"math"
	"strings"

	"tracerag/code/words"
	"tracerag/knowledge"
)

const (
	// commits is how many of a repository's last commits are read. Four times as many
	// found no more on the corpus.
	commits = 2000
	// sweeping is the number of files over which a commit says nothing about each.
	sweeping = 30
)

// subject is a commit as the history reads it.
type subject struct {
	*knowledge.Commit
	terms []string
}

// commitsOf returns a repository's last commits.
func (s *search) commitsOf(repo int64) ([]subject, error) {
	if out, ok := s.subjects[repo]; ok {
		return out, nil
	}
	cs, err := s.store.History(s.ctx, repo, commits)
	if err != nil {
		return nil, err
	}
	out := make([]subject, len(cs))
	for i := range cs {
		out[i] = subject{&cs[i], words.Terms(cs[i].Subject)}
	}
	s.subjects[repo] = out
	return out, nil
}

// history marks the functions of files that were changed by commits whose subjects share
// words with the report: a file is the text of its commits' subjects, and the score BM25.
// A file is likelier to be changed for what it was changed for before. Of what ran that is
// known better: there it made the order worse, as did the place.
func (s *search) history() error {
	weights := s.report.weights()
	for _, repo := range s.scope {
		subjects, err := s.commitsOf(repo)
		if err != nil {
			return err
		}
		scores, why := changed(subjects, weights)
		best := 0.0
		for _, x := range scores {
			best = max(best, x)
		}
		for _, c := range s.found {
			if x := scores[c.Path]; c.Repository == repo && x > 0 && !c.ran {
				commit := why[c.Path]
				c.mark(History, s.w.History*x/best, fmt.Sprintf("%.7s %q", commit.ID, commit.Subject))
			}
		}
	}
	return nil
}

// changed scores files by the commits that changed them, and says which commit has most
// of the words.
func changed(subjects []subject, weights map[string]float64) (scores map[string]float64, why map[string]*knowledge.Commit) {
	const k1, b = 1.2, .3
	type document struct {
		freq   map[string]float64
		length float64
		best   float64
		commit *knowledge.Commit
	}
	files := map[string]*document{}
	rare := map[string]float64{} // commits with each term, to tell them apart
	for _, c := range subjects {
		seen := map[string]bool{}
		for _, t := range c.terms {
			if weights[t] > 0 && !seen[t] {
				seen[t] = true
				rare[t]++
			}
		}
	}
	for _, c := range subjects {
		if len(c.Files) > sweeping {
			continue
		}
		worth := 0.0
		seen := map[string]bool{}
		for _, t := range c.terms {
			if weights[t] > 0 && !seen[t] {
				seen[t] = true
				worth += weights[t] * math.Log(1+float64(len(subjects))/rare[t])
			}
		}
		for _, f := range c.Files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			d := files[f]
			if d == nil {
				d = &document{freq: map[string]float64{}}
				files[f] = d
			}
			d.length += float64(len(c.terms))
			for _, t := range c.terms {
				if weights[t] > 0 {
					d.freq[t]++
				}
			}
			if worth > d.best {
				d.best, d.commit = worth, c.Commit
			}
		}
	}
	with := map[string]float64{}
	mean := 0.0
	for _, d := range files {
		for t := range d.freq {
			with[t]++
		}
		mean += d.length / float64(len(files))
	}
	scores, why = map[string]float64{}, map[string]*knowledge.Commit{}
	for f, d := range files {
		sum := 0.0
		for _, t := range sortedKeys(d.freq) {
			n := d.freq[t]
			idf := math.Log(1 + (float64(len(files))-with[t]+.5)/(with[t]+.5))
			sum += weights[t] * idf * n * (k1 + 1) / (n + k1*(1-b+b*d.length/mean))
		}
		if sum > 0 {
			scores[f], why[f] = sum, d.commit
		}
	}
	return scores, why
}
