package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// LineState says what became of one line of a function.
type LineState byte

// The states of a line. Lines.States has these bytes.
const (
	// LineUnknown: whether it ran is not known.
	LineUnknown LineState = '?'
	// LineNoCode: the function has no code of its own there that could tell. The
	// line is blank, a comment, a brace, or a declaration; or what the compiler has
	// left of it is nothing, a jump or a move, as of break or x = 0; or what
	// is there belongs to another function, as the body of a function literal
	// does.
	LineNoCode LineState = '.'
	// LineRan: something on it ran.
	LineRan LineState = 'r'
	// LineNotRun: nothing on it ran.
	LineNotRun LineState = 'n'
)

// Lines says which lines of a function ran, over all calls of it in the
// recording. The zero value is that of a function whose lines were not watched.
//
// Statements that follow each other may be left out of the function's text as ones
// that did not run if at least one of their lines did not, and all others either did
// not run or have no code, unless something leads into their midst: a label, or a
// function literal that was called. A statement of which a line ran has begun, and
// need not have ended: what it calls may have panicked, or go on still.
type Lines struct {
	First  int    // number of the first line, from 1; 0 in the zero value
	States string // a LineState for each line from First on; both ends have code
}

// At returns the state of a line: LineNoCode outside of the function, and
// LineUnknown everywhere if it was not watched.
func (l Lines) At(line int) LineState {
	switch i := line - l.First; {
	case l.States == "":
		return LineUnknown
	case i < 0 || i >= len(l.States):
		return LineNoCode
	default:
		return LineState(l.States[i])
	}
}

// DidNotRun reports whether the statements on some lines surely did not run: at least one
// of the lines did not, and each other did not or has no code. Runs of a function, and the
// literals in it, each know of their own lines.
func DidNotRun(all []Lines, first, last int) bool {
	idle := false
	for n := first; n <= last; n++ {
		for _, l := range all {
			switch l.At(n) {
			case LineRan, LineUnknown:
				return false
			case LineNotRun:
				idle = true
			}
		}
	}
	return idle
}

// Count returns the number of lines that are in a state.
func (l Lines) Count(s LineState) int { return strings.Count(l.States, string(rune(s))) }

func (l Lines) check() error {
	ends := func(n int) bool { return LineState(l.States[n]) != LineNoCode }
	switch {
	case l.States == "":
		return fmt.Errorf("it has no lines")
	case l.First < 1 || l.First > math.MaxInt32-len(l.States):
		return fmt.Errorf("its first line is %d", l.First)
	case strings.Trim(l.States, "?.rn") != "":
		return fmt.Errorf("unknown states of lines in %.60q", l.States)
	case !ends(0) || !ends(len(l.States)-1):
		return fmt.Errorf("its first or last line has no code: %.60q", l.States)
	}
	return nil
}

// linesKey is repeated: one comment a function, in the order of the functions.
const linesKey = "lines"

// lineComment is the form of Lines in the file.
type lineComment struct {
	Function int    `json:"function"` // 1-based ordinal
	First    int    `json:"first"`
	States   string `json:"states"`
}

func (t *Trace) lineComments() []lineComment {
	var out []lineComment
	for _, id := range slices.Sorted(maps.Keys(t.Lines)) {
		out = append(out, lineComment{int(id) + 1, t.Lines[id].First, t.Lines[id].States})
	}
	return out
}

// readLines reads what the comments say of lines. That they fit the trace is
// left to Check.
func readLines(comments []string) (map[FuncID]Lines, error) {
	var out map[FuncID]Lines
	for _, c := range comments {
		var l lineComment
		if err := json.Unmarshal([]byte(c), &l); err != nil {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, linesKey, err)
		}
		id := FuncID(l.Function - 1)
		if _, twice := out[id]; twice || l.Function < 1 || l.Function > math.MaxInt32 {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: function %d is repeated or unknown", prefix, linesKey, l.Function)
		}
		if out == nil {
			out = map[FuncID]Lines{}
		}
		out[id] = Lines{l.First, l.States}
	}
	return out, nil
}

func (t *Trace) checkLines() error {
	for _, id := range slices.Sorted(maps.Keys(t.Lines)) {
		if id < 0 || int(id) >= len(t.Functions) {
			return fmt.Errorf("lines of unknown function %d", id)
		}
		if err := t.Lines[id].check(); err != nil {
			return fmt.Errorf("lines of function %d: %w", id, err)
		}
	}
	return nil
}
