package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/rank"
	"tracerag/session"
)

type rankArgs struct {
	Question string `json:"question" jsonschema:"what to find out, in the user's words, or a whole bug report; names and quoted messages in it count most"`
	Trace    string `json:"trace,omitempty" jsonschema:"id of a trace, @last (the default), @prev, or a .pb.gz file below the working directory"`
	Limit    int    `json:"limit,omitempty" jsonschema:"functions to list. Default 10: of bug reports the function to change is mostly among these"`
	budget
}

// rankFacts is the structured content of rank.
type rankFacts struct {
	Total     int             `json:"total" jsonschema:"functions that ran, listed or not"`
	Functions []functionFacts `json:"functions"`
}

type functionFacts struct {
	Name     string  `json:"name"`
	Handle   string  `json:"handle,omitempty" jsonschema:"of its first node in the call tree"`
	Position string  `json:"position,omitempty" jsonschema:"file:first-last line"`
	Score    float64 `json:"score" jsonschema:"comparable within one answer"`
	Calls    int64   `json:"calls"`
	Why      string  `json:"why,omitempty"`
}

func (s *server) addRank(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "rank", Title: "Functions that a question is about", Description: `The functions that ran, those that a question is about first, each with its handle, its position and reasons. No model is asked: words, names and quoted messages of the question are looked for in names, comments and bodies, and of a run that failed, what passing runs did not call.
The place to begin with a question; source shows what it finds.`},
		s.rank)
}

func (s *server) rank(_ context.Context, in rankArgs) (answer[rankFacts], error) {
	out := answer[rankFacts]{facts: rankFacts{Functions: []functionFacts{}}}
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return out, err
	}
	switch {
	case strings.TrimSpace(in.Question) == "":
		return out, errors.New("no question: say in words what to find")
	case in.Limit < 0:
		return out, fmt.Errorf("limit=%d: give a number of functions, or leave it out", in.Limit)
	case in.Limit == 0:
		in.Limit = 10
	}
	v, err := s.open(false, in.Trace)
	if err != nil {
		return out, err
	}
	r := v.Runs[0]
	if r.Tree.Size == 0 {
		return out, empty(r, "to rank")
	}
	ranking := v.Rank(in.Question)
	out.facts.Total = len(ranking.Functions)
	var b strings.Builder
	b.WriteString(head(r) + "\n")
	room := limit - s.count.Count(b.String()) - 40 // for the mark
	structured := limit - 40
	for i := range ranking.Functions[:min(in.Limit, len(ranking.Functions))] {
		line, facts := rankLine(v.Runs, &ranking.Functions[i], i)
		facts.Name, facts.Position, facts.Why = s.Mask(facts.Name), s.Mask(facts.Position), s.Mask(facts.Why)
		room -= s.count.Count(line) + 1
		structured -= s.factsTokens(facts)
		if room < 0 || structured < 0 {
			break
		}
		b.WriteString(line)
		out.facts.Functions = append(out.facts.Functions, facts)
	}
	if n := len(ranking.Functions) - len(out.facts.Functions); n > 0 {
		b.WriteString(clipped(n, "function", "rank with a larger limit or max_tokens") + "\n")
	}
	out.text = b.String()
	return out, nil
}

func rankLine(runs []*session.Run, f *rank.Ranked, i int) (string, functionFacts) {
	facts := functionFacts{Name: f.Name, Position: f.Position, Score: float64(int(f.Score*1000)) / 1000, Calls: f.Calls, Why: cutText(f.Why(), 400)}
	name := f.Name
	if n := nodeOf(runs, f.Symbol); n != nil {
		facts.Handle = fmt.Sprintf("#%d", n.ID)
		name += " " + facts.Handle
	}
	nodes := callsTo(runs, f.Symbol)
	if len(nodes) > 0 { // those of closures in it are not its own
		facts.Calls = 0
	}
	for _, n := range nodes {
		facts.Calls += n.Calls
	}
	line := fmt.Sprintf("%d. %.2f %s %s %s\n", i+1, f.Score, name, f.Position, countOf(nodes))
	if facts.Why != "" {
		line += "   " + facts.Why + "\n"
	}
	return line, facts
}
