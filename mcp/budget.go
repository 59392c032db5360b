package mcp

import (
	"fmt"
	"strings"
)

// Every answer has a budget of tokens, as o200k_base counts them: other vocabularies
// differ by a fifth or so, and an agent's own is not known.
const (
	defaultTokens = 2000
	promptTokens  = 8000
	leastTokens   = 200    // an answer of less is its head and a mark
	mostTokens    = 200000 // more fits no model
)

// budget is part of the arguments of every tool.
type budget struct {
	MaxTokens int `json:"max_tokens,omitempty" jsonschema:"tokens that the answer may have. Default 2000: some hundred lines, which is enough for the next step and can be asked for ten times over. What does not fit is marked."`
}

// limit returns the tokens that an answer may have.
func (b budget) limit(otherwise int) (int, error) {
	switch {
	case b.MaxTokens == 0:
		return otherwise, nil
	case b.MaxTokens < leastTokens || b.MaxTokens > mostTokens:
		return 0, fmt.Errorf("max_tokens=%d: give %d to %d, or leave it out", b.MaxTokens, leastTokens, mostTokens)
	}
	return b.MaxTokens, nil
}

// fit returns the longest rendering that has at most limit tokens, of those that have n
// of total entries each, n being 1 at least. A rendering marks what it lacks.
func (s *server) fit(limit, total int, render func(n int) string) string {
	best, bestAt := "", 0
	fits := func(n int) bool {
		text := render(n)
		ok := s.count.Count(text) <= limit
		if ok && n > bestAt {
			best, bestAt = text, n
		}
		return ok
	}
	// Doubling first: a large tree is not rendered and counted whole
	// for the sake of its first hundred lines.
	low, high := 0, total+1
	for n := min(16, total); n > 0 && n <= total; n = min(2*n, total) {
		if !fits(n) {
			high = n
			break
		}
		if low = n; n == total {
			break
		}
	}
	for low+1 < high {
		mid := (low + high) / 2
		if fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	if bestAt == 0 {
		return s.clip(limit, render(min(1, total)))
	}
	return best
}

// clip cuts a text that has more tokens than limit after a line, or within the first
// one, and says how many lines are missing.
func (s *server) clip(limit int, text string) string {
	if s.count.Count(text) <= limit {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	mark := func(n int) string { return fmt.Sprintf("[clipped: %d lines, ask with a larger max_tokens]\n", n) }
	room := limit - s.count.Count(mark(len(lines)))
	kept := 0
	for used := 0; kept < len(lines); kept++ {
		// A token more a line: counts of parts may be short of that of the whole.
		if used += s.count.Count(lines[kept]) + 1; used > room {
			break
		}
	}
	if kept == 0 { // a token is a byte at least
		return strings.ToValidUTF8(text[:min(len(text), max(0, room))], "") + " ...\n" + mark(len(lines))
	}
	return strings.Join(lines[:kept], "") + mark(len(lines)-kept)
}
