package eval

import "time"

// Answer is what a model answered in a cell.
type Answer struct {
	Cell

	Prompt string `json:"prompt"` // SHA-256 of the prompt's text, in hex
	Text   string `json:"text"`
	// Rounds are all prompts of a question that was asked in rounds; Prompt is then that
	// of the first.
	Rounds []string `json:"rounds,omitempty"`

	// FinishReason is the server's: "stop", or "length" for an answer that was cut
	// at a limit of tokens.
	FinishReason string   `json:"finish_reason,omitempty"`
	ServedBy     string   `json:"served_by,omitempty"` // the model as the server names it
	Notes        []string `json:"notes,omitempty"`     // what was asked differently, and why

	Usage   *Usage    `json:"usage,omitempty"` // nil where the server told none
	Cost    *float64  `json:"cost,omitempty"`  // US dollars at list prices; nil where no price is known
	Seconds float64   `json:"seconds"`         // from the question to the end of the answer
	Asked   time.Time `json:"asked"`
}

// Usage is the server's count of tokens.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Cached     int `json:"cached,omitempty"`    // of Prompt
	Reasoning  int `json:"reasoning,omitempty"` // of Completion
}

// Grading is what one grader gave one answer.
type Grading struct {
	Grader string `json:"grader"` // "auto", "judge MODEL", "human"
	Marks  []Mark `json:"marks"`  // those criteria that it graded, in the rubric's order

	// Leaked are names and places that the answer cites and the prompt has not:
	// from the model's training, or from nowhere. Only the automatic grader looks.
	Leaked []string `json:"leaked,omitempty"`
}

// Mark is how well an answer meets a criterion.
type Mark struct {
	Criterion string  `json:"criterion"`     // its id
	Share     float64 `json:"share"`         // of the criterion's points, 0 to 1
	Why       string  `json:"why,omitempty"` // a few words
}

// Score is the sum of the points, and whether every criterion of the rubric has
// a mark: a score that lacks some does not compare with others.
func (g *Grading) Score(i *Inquiry) (points float64, complete bool) {
	marked := map[string]float64{}
	for _, m := range g.Marks {
		marked[m.Criterion] = m.Share
	}
	complete = true
	for _, c := range i.Criteria {
		share, ok := marked[c.ID]
		points += share * c.Points
		complete = complete && ok
	}
	return points, complete
}
