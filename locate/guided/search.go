package guided

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/treesearch"
)

// SearchOptions bound a search. Zero values are those of DefaultSearch.
type SearchOptions struct {
	Rewards int           // functions that the model is asked about
	Time    time.Duration // for the rewards; what is asked after them is bounded by Steps
	Steps   int           // of looking around
	// Tree has a tree search choose the functions that are asked about, as the paper has it. Otherwise
	// they are the first in the order of words: docs/locating.md has why.
	Tree bool
}

// DefaultSearch are the bounds that are used where none are given.
var DefaultSearch = SearchOptions{Rewards: 60, Time: 5 * time.Minute, Steps: 6}

// Of a search: how many functions are summarised, the reward from which a function is a result,
// how many are asked about at once by words (in a tree each reward tells where to go on), and c of
// the tree: that of the paper is for 600 rewards.
const (
	summarised  = 10
	kept        = .6
	atOnce      = 12
	exploration = .05
)

// ranked is a function with its reward, 1 to 10.
type ranked struct {
	decl   *knowledge.Decl
	reward int
	why    string
	way    []Step
}

// search asks what functions are worth, has the best ones summarised, and lets the model look
// around from there (Ma et al. 2024, "RepoUnderstander").
func (g *Guide) search(ctx context.Context, q locate.Question) (*Answer, error) {
	t, err := g.begin(ctx, q, Search)
	if err != nil {
		return nil, err
	}
	s := g.Search
	if s.Rewards == 0 {
		s.Rewards = DefaultSearch.Rewards
	}
	if s.Time == 0 {
		s.Time = DefaultSearch.Time
	}
	if s.Steps == 0 {
		s.Steps = DefaultSearch.Steps
	}
	tree, err := NewTree(ctx, g.Store, q, t.found)
	if err != nil {
		return nil, err
	}
	r := t.reader()
	r.tree = tree
	list, err := t.reward(r, tree, s)
	if err != nil || ctx.Err() != nil || len(list) == 0 {
		return t.answer(list, nil, nil, errors.Join(err, ctx.Err()))
	}
	a := &agent{reader: r, at: map[int64]int{}}
	best := list[:min(len(list), summarised)]
	for _, b := range best {
		a.show(b.decl, "")
		a.shown[len(a.shown)-1].line = b.why
	}
	if err = a.summarise(best); err != nil {
		return t.answer(list, a, nil, err)
	}
	picks, err := a.run(s.Steps)
	return t.answer(list, a, picks, err)
}

// reward asks what functions are worth, and returns them, the best first.
func (t *task) reward(r *reader, tree *Tree, s SearchOptions) ([]ranked, error) {
	ctx, cancel := context.WithTimeout(t.ctx, s.Time)
	defer cancel()
	w := &rewarder{reader: r, why: map[treesearch.Node]string{}}
	sample := Sample{Rewards: s.Rewards, Words: s.Rewards, Tree: treesearch.Options{Parallel: atOnce, Keep: kept}}
	if s.Tree {
		sample.Words, sample.Tree.Parallel, sample.Tree.Exploration = 0, batch, exploration
	}
	found, err := tree.Search(ctx, w.rewards, sample)
	if t.ctx.Err() == nil && ctx.Err() != nil && len(found) < s.Rewards {
		t.note("search: the time limit was reached after %d of %d rewards", len(found), s.Rewards)
	}
	if w.unread > 0 {
		t.note("search: the model gave %d of the functions no reward from 1 to 10, asked twice", w.unread)
	}
	if err == nil && len(w.why) == 0 {
		return nil, w.wrong // nothing came of it
	}
	var list []ranked
	for _, f := range found {
		x := ranked{decl: tree.Decl(f.Node), reward: int(math.Round(f.Reward * 10)), why: w.why[f.Node]}
		if x.reward == 0 {
			continue
		}
		x.way = append(tree.way(f), Step{Level: "reward", Name: fmt.Sprintf("%d of 10", x.reward), Why: x.why})
		list = append(list, x)
	}
	return list, err
}

// way says what a search descended through to a function.
func (t *Tree) way(f treesearch.Found) (out []Step) {
	d := t.Decl(f.Node)
	if len(t.repos) > 1 {
		i := slices.IndexFunc(t.repos, func(r knowledge.Repository) bool { return r.ID == d.Repository })
		out = append(out, Step{Level: "repository", Name: t.repos[i].Name})
	}
	out = append(out, Step{Level: "package", Name: d.Package}, Step{Level: "file", Name: d.Path})
	for _, n := range f.Way {
		if by := t.Decl(n); by != nil {
			out = append(out, Step{Level: "called by", Name: by.Name})
		}
	}
	return out
}

// answer puts what the model chose first, then what has a reward from which it is a result, then
// what words found.
func (t *task) answer(list []ranked, a *agent, picks []pick, failed error) (*Answer, error) {
	var o locate.Order
	done := map[int64]bool{}
	add := func(d *knowledge.Decl, why string) {
		if !done[d.ID] && t.found.Admits(d) {
			done[d.ID] = true
			o.Functions = append(o.Functions, chosen(*d, len(o.Functions)+1, why))
		}
	}
	for _, x := range list {
		t.ways[x.decl.ID] = x.way
	}
	for _, p := range picks {
		x := &a.shown[p.at]
		if x.by != "" {
			t.ways[x.decl.ID] = append(t.ways[x.decl.ID], Step{Level: "step", Name: x.by})
		}
		why := p.why
		if why == "" {
			why = x.line
		}
		add(&x.decl, why)
	}
	for _, x := range list {
		if float64(x.reward) >= 10*kept {
			add(x.decl, fmt.Sprintf("%d of 10: %s", x.reward, x.why))
		}
	}
	got, err := t.end(o, failed)
	if got != nil && a != nil {
		got.Plan = a.plan
		for _, s := range a.steps {
			got.Steps = append(got.Steps, Step{Level: "step", Name: s.action, Why: s.thought})
		}
	}
	return got, err
}
