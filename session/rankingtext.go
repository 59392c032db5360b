package session

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"tracerag/phrase"
	"tracerag/prompt/tokens"
	"tracerag/rank"
	"tracerag/source"
)

// WriteRanking writes a line for each function, and one for what speaks for it.
func (s *Session) WriteRanking(w io.Writer, fs []rank.Ranked) error {
	b := bufio.NewWriter(w)
	count := tokens.For("")
	for i := range fs {
		f := &fs[i]
		size := "no source"
		if n := sourceTokens(f.Source, count); n > 0 {
			size = phrase.Plural(n, "token", "tokens")
		}
		place := f.Position
		if place == "" {
			place = "place unknown"
		}
		fmt.Fprintf(b, "%3d  %.2f  %s  %s, %s\n", i+1, f.Score, f.Name, place, size)
		if why := f.Why(); why != "" {
			fmt.Fprintf(b, "           %s\n", s.Mask.Text(why))
		}
	}
	return b.Flush()
}

func sourceTokens(t source.Text, c tokens.Counter) int {
	if t.Body == "" {
		return 0
	}
	return c.Count(t.Doc + t.Body)
}

// rankJSON is what rank --json prints.
type rankJSON struct {
	Schema    string         `json:"schema"`
	Question  string         `json:"question"`
	Total     int            `json:"total"` // functions, listed or not
	Functions []rankFunction `json:"functions"`
}

type rankFunction struct {
	Name     string        `json:"name"`
	Symbol   string        `json:"symbol"` // linker name
	Position string        `json:"position,omitempty"`
	Score    float64       `json:"score"`
	Calls    int64         `json:"calls"`
	Tokens   int           `json:"tokens"`
	Reasons  []rank.Reason `json:"reasons"`
}

// WriteRankingJSON writes the first functions of a ranking as JSON.
func (s *Session) WriteRankingJSON(w io.Writer, question string, r *rank.Ranking, fs []rank.Ranked) error {
	out := rankJSON{Schema: "tracerag.rank/1", Question: s.Mask.Text(question), Total: len(r.Functions), Functions: []rankFunction{}}
	count := tokens.For("")
	for i := range fs {
		f := &fs[i]
		reasons := append([]rank.Reason{}, f.Reasons...)
		for i := range reasons {
			reasons[i].What = s.Mask.Text(reasons[i].What)
		}
		out.Functions = append(out.Functions, rankFunction{
			Name: f.Name, Symbol: f.Symbol, Position: f.Position, Score: f.Score, Calls: f.Calls,
			Tokens: sourceTokens(f.Source, count), Reasons: reasons,
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
