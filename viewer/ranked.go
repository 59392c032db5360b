package viewer

import (
	"strings"

	"tracerag/trace/symbol"
)

// mostRanked is how many functions the page lists for a question: whoever has read the
// first twenty and found nothing asks otherwise.
const mostRanked = 30

// Ranked is a function that a question is about.
type Ranked struct {
	Name     string  `json:"name"` // "csvview.(*Table).Render"
	Position string  `json:"position,omitempty"`
	Score    float64 `json:"score"`         // the best has about 1
	Why      string  `json:"why,omitempty"` // in some words
	Symbol   string  `json:"-"`             // linker name
}

// listed is a ranked function as the browser gets it.
type listed struct {
	Ranked
	Func int `json:"func"` // of the page
}

// rank returns what of the page a question is about, the best first.
func (p *Page) rank(question string) ([]listed, error) {
	out := []listed{}
	if p.content.Rank == nil || strings.TrimSpace(question) == "" {
		return out, nil
	}
	ranked, err := p.content.Rank(question)
	if err != nil {
		return nil, err
	}
	for _, r := range ranked {
		if i, ok := p.declared(r.Symbol); ok {
			out = append(out, listed{r, i})
		}
	}
	return out, nil
}

// declared is the function of the page that a declaration is: the function itself, or
// where only closures in it ran under these calls, the first of those.
func (p *Page) declared(name string) (i int, ok bool) {
	i = -1
	for k, f := range p.functions {
		if f.fn.Name == name {
			return k, true
		}
		if i < 0 && symbol.Canonical(f.fn.Name) == name {
			i = k
		}
	}
	return i, i >= 0
}
