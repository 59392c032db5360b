package summary

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tracerag/code"
	"tracerag/visible"
)

// item is what one line of a reply is about: a declaration, or all that have no name.
type item struct {
	label string // "method (*T).M", "rest"
	decls []int  // of the file
	text  string
	known bool // text is kept, or was answered
}

const (
	fileLabel = "file"
	restLabel = "rest"
)

// kinds of labels.
var labelKinds = [...]string{"func", "method", "type", "const", "var", fileLabel, restLabel}

// items are what a file's reply has lines for, in the file's order; what has no name comes last,
// under one heading.
func items(u *unit) []item {
	var out []item
	rest := item{label: restLabel, known: true}
	for i := range u.Decls {
		d := &u.Decls[i]
		if d.Name == "_" {
			rest.decls = append(rest.decls, i)
			rest.known = rest.known && d.kept
			rest.text = d.Text
			continue
		}
		out = append(out, item{d.Kind.String() + " " + d.Symbol(), []int{i}, d.Text, d.kept})
	}
	if len(rest.decls) > 0 {
		out = append(out, rest)
	}
	return out
}

// labels finds items by what a reply calls them.
type labels struct {
	exact map[string]int
	loose map[string]int // -1: several
}

func newLabels(items []item) *labels {
	l := &labels{map[string]int{}, map[string]int{}}
	for i, x := range items {
		l.exact[x.label] = i
		if kind, symbol, ok := strings.Cut(x.label, " "); ok {
			l.addLoose(symbol, i)
			if kind == code.Func.String() || kind == code.Type.String() {
				l.addLoose(loosened(symbol), i)
			} else if s := loosened(symbol); s != symbol {
				l.addLoose(s, i)
			}
		}
	}
	return l
}

func (l *labels) addLoose(name string, i int) {
	if other, ok := l.loose[name]; ok && other != i {
		i = -1
	}
	l.loose[name] = i
}

// find returns the item that a label means, -1 if none. A method that is only named by its last
// part is one of the type that the line before was about.
func (l *labels) find(label, symbol, typ string) int {
	if i, ok := l.exact[label]; ok {
		return i
	}
	for _, name := range []string{symbol, loosened(symbol), typ + "." + symbol} {
		if i, ok := l.loose[name]; ok && i >= 0 && name != "" {
			return i
		}
	}
	return -1
}

// loosened is a symbol as it may also be written: "T.M" of "(*T).M", of "(t *T) M(x int)" and of
// "(*T[K]).M".
func loosened(symbol string) string {
	if rest, ok := strings.CutPrefix(symbol, "("); ok {
		if receiver, method, ok := strings.Cut(rest, ")"); ok {
			if i := strings.LastIndexAny(receiver, " *"); i >= 0 {
				receiver = receiver[i+1:]
			}
			symbol = receiver + "." + strings.TrimLeft(method, ". ")
		}
	}
	if i := strings.IndexByte(symbol, '['); i >= 0 {
		if j := strings.IndexByte(symbol, ']'); j > i {
			symbol = symbol[:i] + symbol[j+1:]
		}
	}
	if i := strings.IndexAny(symbol, "( ,"); i > 0 {
		symbol = symbol[:i]
	}
	return symbol
}

// receiver is the type of a method by its label; that of a type is itself.
func receiver(label string) string {
	kind, symbol, _ := strings.Cut(label, " ")
	if kind == code.Type.String() {
		return loosened(symbol)
	}
	typ, _, ok := strings.Cut(loosened(symbol), ".")
	if !ok {
		return ""
	}
	return typ
}

// reply is a model's reply, held against the items of a file.
type reply struct {
	line    string
	texts   map[int]string // of items
	unknown []string       // labels of nothing that the file has
}

// mostUnknown is how many wrong labels are named to the model, and how long each may be.
const mostUnknown = 10

// parse reads a reply. Lines in another order find their place by their labels; of two with one
// label the first counts. Lines with no label are talk.
func parse(text string, all *labels, its []item) reply {
	r := reply{texts: map[int]string{}}
	typ := ""
	for line := range strings.Lines(text) {
		line = strings.Trim(strings.TrimSpace(line), "`")
		line = strings.TrimLeft(line, "-*•# ")
		if strings.HasPrefix(line, "(") { // TrimLeft took nothing of "(*T).M"
			line = strings.TrimSpace(line)
		}
		label, said, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		label = strings.TrimSpace(strings.Trim(strings.TrimSpace(label), "`*"))
		said = Clean(strings.Trim(said, " `*"), longest)
		kind, symbol := "", label
		for _, k := range labelKinds {
			if rest, ok := strings.CutPrefix(label, k); ok && (rest == "" || rest[0] == ' ' || rest[0] == '(') {
				kind, symbol = k, strings.TrimSpace(rest)
				break
			}
		}
		if kind == fileLabel {
			if r.line == "" {
				r.line = said
			}
			continue
		}
		if said == "" {
			continue
		}
		i := all.find(label, symbol, typ)
		switch {
		case i >= 0:
			if r.texts[i] == "" {
				r.texts[i] = said
			}
			typ = receiver(its[i].label)
		case kind != "" && len(r.unknown) < mostUnknown:
			r.unknown = append(r.unknown, Clean(label, 80))
		}
	}
	return r
}

// longest is how many bytes a line of a model may have; longestParagraph is that of a package
// or a repository.
const (
	longest          = 280
	longestParagraph = 900
)

// Clean makes one line of at most most bytes of what a model said, without characters that a
// terminal would obey.
func Clean(s string, most int) string {
	if len(s) > 8*most { // the rest is never shown
		s = s[:8*most]
	}
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		if visible.Hidden(r) {
			return ' '
		}
		return r
	}, s)
	return cutAt(strings.Join(strings.Fields(s), " "), most)
}

// elide leaves out the middle of a text that has over n bytes, and says so.
func elide(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := n*2/3, n/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail > 0 && !utf8.RuneStart(text[len(text)-tail]) {
		tail--
	}
	return text[:head] + "\n[… " + strconv.Itoa(len(text)-head-tail) + " bytes are left out here …]\n" + text[len(text)-tail:]
}
