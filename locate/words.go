package locate

import (
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/parallel"
	"tracerag/rank"
)

// callable are the kinds of declarations that are located.
var callable = []code.Kind{code.Func, code.Method}

// asked returns the question as package rank has it.
func (s *search) asked() rank.Question {
	return rank.Question{Text: s.report.text, Test: s.q.Test, Package: s.q.Package}
}

// words takes the functions with most words of the report for candidates.
func (s *search) words() error {
	terms, _ := rank.Terms(s.asked(), s.w.Text)
	if len(terms) == 0 {
		return nil
	}
	found := make([][]knowledge.Hit, len(s.scope))
	err := parallel.Try(len(s.scope), func(i int) (err error) {
		found[i], err = s.store.Search(s.ctx, knowledge.Query{Terms: terms, Repositories: s.scope[i : i+1], Files: s.q.In, Kinds: callable, Limit: candidates})
		return err
	})
	for _, hits := range found {
		for i := range hits {
			s.add(hits[i].Decl)
		}
	}
	return err
}

// score gives the candidates the score of their text, but for those that ran, which have
// one that knows the run.
func (s *search) score() error {
	if err := s.read(); err != nil {
		return err
	}
	var cs []*candidate
	var fs []rank.Function
	for _, c := range s.sorted() {
		if c.ran {
			continue
		}
		body, doc, ok := s.textOf(&c.Decl)
		if !ok {
			delete(s.found, c.ID)
			continue
		}
		cs = append(cs, c)
		fs = append(fs, rank.Function{Package: c.Package, Name: c.Name, Doc: doc, Text: body})
	}
	known, err := s.known()
	if err != nil {
		return err
	}
	ranked := rank.Rank(s.asked(), rank.Corpus{Functions: fs, Known: known}, s.w.Text)
	for _, r := range ranked {
		c := cs[r.Function]
		c.why = r.Reasons
		if best := ranked[0].Score; best > 0 {
			c.text = r.Score / best
		}
		if len(s.repos) > 1 {
			i := slices.IndexFunc(s.repos, func(x knowledge.Repository) bool { return x.ID == c.Repository })
			c.mark(Routed, s.w.Route*s.routed[i], s.repos[i].Name)
		}
	}
	return nil
}

// known asks the store how rare the question's words are. The words that mean nearly the
// same are not asked for: there are many, and they weigh a twentieth.
func (s *search) known() (*rank.Known, error) {
	if s.rarity != nil {
		return s.rarity, nil
	}
	terms, _ := rank.Terms(s.asked(), s.w.Text)
	r, err := s.store.Rarity(s.ctx, terms, s.scope)
	if err != nil {
		return nil, err
	}
	s.rarity = &rank.Known{Functions: r.Functions, With: map[string]int{}, Length: max(r.Length, 1)}
	for i, t := range terms {
		s.rarity.With[t] = r.With[i]
	}
	return s.rarity, nil
}
