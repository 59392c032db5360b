package locate

import (
	"regexp"
	"strconv"
	"strings"

	"tracerag/trace/symbol"
)

// frame is a line of a stack trace, or a position that a test or a compiler printed.
type frame struct {
	pkg, name string // import path and "(*T).M"; "" of a position alone
	file      string // as written, with slashes
	line      int    // 0 unknown
	depth     int    // in its stack, from 0
	creator   bool   // "created by"
}

// maxFrames is how many frames of a report are read. The first goroutine of a dump is the
// one that failed.
const maxFrames = 200

// longestFrame is the length from which on a line is none of a stack trace: the patterns
// take seconds for one of megabytes.
const longestFrame = 4 << 10

var (
	// frameCall is a line of a stack with a function: "pkg/path.(*T).M(0x1, ...)".
	frameCall = regexp.MustCompile(`^\s*(created by )?([\w./~%@+-]+\.[\w.()*\[\]·-]+?)(?:\([^()]*\)|\(.*\)|( in goroutine \d+)?)\s*$`)
	// framePlace is a position: a path that ends in ".go", a colon and a line.
	framePlace = regexp.MustCompile(`((?:[A-Za-z]:)?[\w./\\@~+%-]*[\w%-]\.go):(\d+)`)
	stackStart = regexp.MustCompile(`^\s*goroutine \d+\b`)
)

// frames reads the stack traces and positions of a text: panics, goroutine dumps, output of
// failed tests and of compilers, whole or cut out.
func frames(text string) []frame {
	var out []frame
	depth := 0
	var call *frame
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > longestFrame {
			continue
		}
		if stackStart.MatchString(line) {
			depth, call = 0, nil
			continue
		}
		if m := framePlace.FindStringSubmatch(line); m != nil {
			f := frame{depth: depth}
			if call != nil {
				f = *call
			}
			f.file = strings.ReplaceAll(m[1], `\`, "/")
			f.line, _ = strconv.Atoi(m[2])
			out = append(out, f)
			call = nil
			depth++
		} else {
			if call != nil { // without a position
				out = append(out, *call)
				depth++
			}
			call = calledIn(line, depth)
		}
		if len(out) >= maxFrames {
			return out
		}
	}
	if call != nil {
		out = append(out, *call)
	}
	return out
}

// calledIn returns the frame of a line that has a function and nothing else.
func calledIn(line string, depth int) *frame {
	m := frameCall.FindStringSubmatch(line)
	if m == nil || !strings.HasSuffix(strings.TrimSpace(line), ")") && m[1] == "" {
		return nil
	}
	name := symbol.Canonical(m[2])
	pkg, local := symbol.Package(name), symbol.Local(name)
	if pkg == "" || local == "" || local == name {
		return nil
	}
	return &frame{pkg: pkg, name: local, depth: depth, creator: m[1] != ""}
}

// withoutFrames returns a text without the functions and positions that frames reads: their
// words are of the whole way to the failure, and would mean all of it.
func withoutFrames(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > longestFrame {
			b.WriteString(line)
		} else if calledIn(strings.TrimRight(line, "\r\n"), 0) == nil && !stackStart.MatchString(line) {
			b.WriteString(framePlace.ReplaceAllString(line, ""))
		}
	}
	return b.String()
}
