package locate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/parallel"
	"tracerag/rank"
)

// route orders the repositories by how likely the report means each. The score is the sum of
// three parts: the words of their functions and those of their commits' subjects together, as
// a naive Bayes classifier has them, and their best functions; each is 1 for the best.
// With a run, the repositories whose functions ran come first.
func (s *search) route() error {
	var err error
	s.repos, err = s.store.Repositories(s.ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(s.repos, func(a, b knowledge.Repository) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	s.routed = make([]float64, len(s.repos))
	if len(s.repos) > 1 {
		if err := s.routeAll(); err != nil {
			return err
		}
	} else if len(s.repos) == 1 {
		s.routed[0] = 1
	}
	if len(s.o.Repositories) > 0 {
		s.first(s.o.Repositories)
		s.scope = s.o.Repositories
		return nil
	}
	for i := range min(len(s.repos), repositories) {
		s.scope = append(s.scope, s.repos[i].ID)
	}
	return nil
}

// first puts repositories in front of the others.
func (s *search) first(ids []int64) {
	for _, id := range slices.Backward(ids) {
		at := slices.IndexFunc(s.repos, func(r knowledge.Repository) bool { return r.ID == id })
		if at >= 0 {
			r, score := s.repos[at], s.routed[at]
			s.repos = slices.Insert(slices.Delete(s.repos, at, at+1), 0, r)
			s.routed = slices.Insert(slices.Delete(s.routed, at, at+1), 0, score)
		}
	}
}

func (s *search) routeAll() error {
	var vocabulary, best []float64
	err := parallel.Try(2, func(i int) (err error) {
		if i == 0 {
			vocabulary, err = s.vocabularies()
		} else {
			best, err = s.bestFunctions()
		}
		return err
	})
	if err != nil {
		return err
	}
	ran := s.whereRan()
	scores := make([]float64, len(s.repos))
	for i := range s.repos {
		scores[i] = vocabulary[i] + best[i] + ran[i]
	}
	order := make([]int, len(s.repos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	scores = normal(scores)
	repos := slices.Clone(s.repos)
	for at, i := range order {
		s.repos[at], s.routed[at] = repos[i], scores[i]
	}
	return nil
}

// Of a classifier: the weight of what all repositories have together, in functions or in
// commits, and the most that one word of the report may count.
const (
	smoothing = 100
	mostOfOne = 3
)

// vocabularies says how much likelier the report's words are in each repository than in
// all of them: in functions, and in the subjects of commits.
func (s *search) vocabularies() ([]float64, error) {
	weights := s.report.weights()
	terms := sortedKeys(weights)
	if len(terms) == 0 {
		return make([]float64, len(s.repos)), nil
	}
	ids := make([]int64, len(s.repos))
	for i := range s.repos {
		ids[i] = s.repos[i].ID
	}
	list, err := s.store.Vocabularies(s.ctx, terms, ids)
	if err != nil {
		return nil, err
	}
	functions := make([]counts, len(list))
	subjects := make([]counts, len(list))
	for i, v := range list {
		functions[i] = counts{v.Functions, v.InFunctions}
		subjects[i] = counts{v.Commits, v.InCommits}
	}
	sum := likelier(functions, terms, weights)
	for i, x := range likelier(subjects, terms, weights) {
		sum[i] += x
	}
	// Of an empty one nothing is known, which is not as likely as anything: it comes last.
	empty := func(i int) bool { return list[i].Functions == 0 && list[i].Commits == 0 }
	lowest := slices.Max(sum)
	for i, x := range sum {
		if !empty(i) {
			lowest = min(lowest, x)
		}
	}
	for i := range sum {
		if sum[i] -= lowest; empty(i) {
			sum[i] = 0
		}
	}
	return normal(sum), nil
}

// counts says in how many of all texts each term is.
type counts struct {
	all  int
	with []int
}

// likelier returns, for each of the vocabularies, the logarithm of how much likelier
// it has the terms than all together.
func likelier(in []counts, terms []string, weights map[string]float64) []float64 {
	out := make([]float64, len(in))
	all := 0
	for _, c := range in {
		all += c.all
	}
	for t, term := range terms {
		with := 0
		for _, c := range in {
			with += c.with[t]
		}
		if with == 0 {
			continue
		}
		p := (float64(with) + .5) / float64(all)
		for i, c := range in {
			here := (float64(c.with[t]) + smoothing*p) / (float64(c.all) + smoothing)
			out[i] += min(weights[term], mostOfOne) * math.Log(here/p)
		}
	}
	return out
}

// bestFunctions returns the score of each repository's best function among all.
func (s *search) bestFunctions() ([]float64, error) {
	out := make([]float64, len(s.repos))
	terms, _ := rank.Terms(rank.Question{Text: s.report.text}, s.w.Text)
	if len(terms) == 0 {
		return out, nil
	}
	hits, err := s.store.Search(s.ctx, knowledge.Query{Terms: terms, Files: s.q.In, Kinds: []code.Kind{code.Func, code.Method}, Limit: candidates})
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		for i := range s.repos {
			if s.repos[i].ID == h.Repository {
				out[i] = max(out[i], h.Score)
			}
		}
	}
	return normal(out), nil
}

// whereRan returns 3, more than all else together, for repositories with a module whose
// packages ran.
func (s *search) whereRan() []float64 {
	out := make([]float64, len(s.repos))
	for i := range s.repos {
		for _, m := range s.repos[i].Modules {
			if slices.ContainsFunc(s.q.Ran, func(r RanFunction) bool {
				return r.Package == m.Path || strings.HasPrefix(r.Package, m.Path+"/")
			}) {
				out[i] = 3
			}
		}
	}
	return out
}

// normal divides by the greatest.
func normal(x []float64) []float64 {
	top := slices.Max(x)
	out := make([]float64, len(x))
	if top > 0 {
		for i := range x {
			out[i] = x[i] / top
		}
	}
	return out
}
