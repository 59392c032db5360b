package patch

import (
	"bytes"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// plainDiff is a diff in the form that the library reads: with the prefixes a/ and b/ in git's headers (git diff
// --no-prefix writes none, and both names are the same then), and without carriage returns that
// somebody's editor or mail added to all lines, the headers', too.
func plainDiff(text []byte) []byte {
	added, headers := true, 0
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("--- ")) || bytes.HasPrefix(line, []byte("+++ ")) || bytes.HasPrefix(line, []byte("@@ ")) {
			headers++
			added = added && bytes.HasSuffix(line, []byte("\r\n"))
		}
	}
	if added && headers > 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	var out []byte
	name := ""
	for line := range bytes.Lines(text) {
		l := strings.TrimRight(string(line), "\n")
		if both, ok := strings.CutPrefix(l, "diff --git "); ok {
			name = ""
			if n := len(both) / 2; len(both)%2 == 1 && both[n] == ' ' && both[:n] == both[n+1:] {
				name = both[:n]
				line = []byte("diff --git " + prefixed("a/", name) + " " + prefixed("b/", name) + "\n")
			}
		} else if strings.HasPrefix(l, "@@ ") {
			name = ""
		} else if name != "" && strings.TrimRight(l, "\t") == "--- "+name {
			line = []byte("--- " + prefixed("a/", name) + "\n")
		} else if name != "" && strings.TrimRight(l, "\t") == "+++ "+name {
			line = []byte("+++ " + prefixed("b/", name) + "\n")
		}
		out = append(out, line...)
	}
	return out
}

// prefixed puts a prefix before a name, which git may have quoted.
func prefixed(prefix, name string) string {
	if rest, ok := strings.CutPrefix(name, `"`); ok {
		return `"` + prefix + rest
	}
	return prefix + name
}

// lineEnds gives the lines of hunks the ends that a file's have: a diff for a file with carriage returns loses them
// on its way.
func lineEnds(before []byte, hunks []*gitdiff.TextFragment) {
	n := bytes.Count(before, []byte("\n"))
	if n == 0 || n != bytes.Count(before, []byte("\r\n")) {
		return
	}
	for _, h := range hunks {
		for _, l := range h.Lines {
			if strings.HasSuffix(l.Line, "\r\n") {
				return
			}
		}
	}
	for _, h := range hunks {
		for i, l := range h.Lines {
			if rest, ok := strings.CutSuffix(l.Line, "\n"); ok {
				h.Lines[i].Line = rest + "\r\n"
			}
		}
	}
}
