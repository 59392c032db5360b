package rank_test

import (
	"fmt"

	"tracerag/rank"
)

// Rank orders functions by how much a question is about them. [rank.Runs] does so
// for recorded runs.
func Example() {
	run := rank.Corpus{Functions: []rank.Function{
		{Package: "app/table", Name: "(*Table).resize", Text: "func (t *Table) resize() { t.width = 80 }"},
		{Package: "app/table", Name: "(*Table).drawBorder", Doc: "// drawBorder draws the top line.", Text: "func (t *Table) drawBorder() {}"},
	}}
	for _, r := range rank.Rank(rank.Question{Text: "which function draws the border?"}, run, rank.Default) {
		fmt.Println(run.Functions[r.Function].Name, r.Why())
	}
	// Output:
	// (*Table).drawBorder has draws, border
	// (*Table).resize
}
