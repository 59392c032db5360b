package rank

import (
	"strings"

	"tracerag/code"
)

// A piece of a literal is worth looking for in a question when it can hardly be
// there by chance: it has this many bytes and more than one word.
const pieceLength = 10

// quoted returns the first piece of a string literal in the Go source text that
// the question, in lower case, has word for word; "" if none.
//
//	fmt.Errorf("reduce of empty %s with no initial value", kind)
//
// has the pieces "reduce of empty" and "with no initial value".
func quoted(text, question string) string {
	if question == "" {
		return ""
	}
	for _, literal := range code.Literals(text, nil) {
		if len(literal) < pieceLength {
			continue
		}
		for _, piece := range code.Pieces(literal) {
			if len(piece) >= pieceLength && strings.Contains(piece, " ") && strings.Contains(question, strings.ToLower(piece)) {
				return piece
			}
		}
	}
	return ""
}
