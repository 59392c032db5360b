package metered

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Part is a text of somebody else in a question: a report, source.
type Part struct{ Name, Text string }

// Fenced puts parts between the lines "<<<NAME MARK" and "MARK>>>", of a mark that none of them
// contains: they are data, and cannot end before their end.
func Fenced(parts ...Part) string {
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	// A hash of the text can't be written into the text by who writes it.
	mark := fmt.Sprintf("%X", sha256.Sum256([]byte(all.String())))[:8]
	for strings.Contains(all.String(), mark) {
		mark = fmt.Sprintf("%X", sha256.Sum256([]byte(mark)))[:8]
	}
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "<<<%s %s\n%s\n%s>>>\n\n", p.Name, mark, strings.TrimRight(p.Text, "\n"), mark)
	}
	return b.String()
}
