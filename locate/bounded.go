package locate

import (
	"strings"
)

const (
	// mostText is how many bytes of a report are looked for by their words: each word
	// costs a search. Logs have megabytes, and what is wrong is at their ends, or says so.
	mostText = 24 << 10
	// longestWord is the length from which on a word is data: base64, a hash, a dump.
	longestWord = 200
)

// bounded returns what counts of a text: all of one that is not long. Of a long one its
// beginning, the lines in the middle that begin as failures do, and its end, a third each.
func bounded(text string) string {
	const part = mostText / 3
	if len(text) <= mostText {
		return text
	}
	// The ends are cut at lines, or within one that is too long.
	head, tail := part, len(text)-part
	if i := strings.LastIndexByte(text[:head], '\n'); i >= 0 {
		head = i + 1
	}
	if i := strings.IndexByte(text[tail:], '\n'); i >= 0 && i < part-1 {
		tail += i + 1
	}
	var middle strings.Builder
	for line := range strings.Lines(text[head:tail]) {
		if len(line) <= 1000 && middle.Len()+len(line) <= part && failure.MatchString(line) {
			middle.WriteString(line)
		}
	}
	return strings.ToValidUTF8(text[:head]+"\n"+middle.String()+text[tail:], "")
}

// withoutData leaves out words that no one writes.
func withoutData(text string) string {
	var b strings.Builder
	from, kept := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' && text[i] != '\n' && text[i] != '\t' && text[i] != '\r' {
			continue
		}
		if i-from > longestWord {
			b.WriteString(text[kept:from])
			kept = i
		}
		from = i + 1
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}
