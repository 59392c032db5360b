package patch

import (
	"bytes"
	"regexp"
	"strings"
)

// leftOut matches comments by which models stand for code that they do not repeat: the text
// would parse, and delete that code.
var leftOut = regexp.MustCompile(`(?i)^(\.\.\.|…)|(\.\.\.|…)$|` +
	`^(the )?(rest|remainder|remaining|existing|previous|original|other|same|unchanged|omitted)\b[^.]*\b(code|unchanged|implementation|logic|body|functions?|declarations|omitted|cases|fields|methods)\b|` +
	`\b(code|body|function|method|logic|rest|implementation) (remains?|stays?|is|are) (unchanged|the same|as before)\b|\b(omitted|elided) for brevity\b`)

// elided refuses a text that says it leaves code out, unless the file has that comment already.
func (c *change) elided(given *source) {
	for _, g := range given.tree.Comments {
		for _, x := range g.List {
			line := strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(x.Text, "/* \t"), "*/"))
			if strings.Contains(line, "\n") || !leftOut.MatchString(line) || bytes.Contains(c.before, []byte(line)) {
				continue
			}
			at := given.offset(x.Pos())
			if !inBody(given, at) {
				continue
			}
			e := c.refuse(Elided, "", "a comment says that code is left out: give the whole declaration")
			n := 1 + bytes.Count(given.text[:at], []byte("\n"))
			e.Problems = []Problem{{Line: n, Column: 1 + at - lineStart(given.text, at), What: "left out", Source: string(given.text[lineStart(given.text, at):lineEnd(given.text, at)])}}
		}
	}
}

// inBody reports whether an offset is inside of a declaration: a comment between two says
// nothing of either.
func inBody(s *source, at int) bool {
	for _, d := range s.decls {
		if at > d.span.Start && at < d.span.End {
			return true
		}
	}
	return false
}
