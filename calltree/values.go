package calltree

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tracerag/trace"
)

// Bounds of what a line of text shows of the values that were observed, in
// characters: a line of a tree is read at a glance, and a prompt has thousands.
const (
	maxArgs    = 240 // of the arguments or the results of one call, about, without their names
	minText    = 12  // to which a value is not cut
	maxObserve = 320 // after which no further call is begun
)

// observe hangs the observed values of t into its tree, whose node for each of the
// trace's nodes is of, or nil.
func observe(t *trace.Trace, of []*Node) {
	for i := range t.Activations {
		if n := of[t.Activations[i].Node]; n != nil {
			n.Values = append(n.Values, t.Activations[i])
		}
	}
}

// values writes what was observed of a node's calls, the first with names and types:
//
//	(emoji bool = true, width int = 80) -> error = nil; (false, 80) -> nil; ...
//
// Calls that look like one before them are left out, and the dots represent those that
// were not observed or have no room. A call of which there is nothing to tell is "".
func (n *Node) values() string {
	var b strings.Builder
	seen := map[string]bool{}
	left := n.Calls > int64(len(n.Values))
	for i := range n.Values {
		a := &n.Values[i]
		brief := activation(a, false)
		if seen[brief] {
			continue
		}
		if i > 0 && utf8.RuneCountInString(b.String()) > maxObserve {
			left = true
			continue
		}
		seen[brief] = true
		if i == 0 {
			brief = activation(a, true)
		} else {
			b.WriteString("; ")
		}
		b.WriteString(brief)
	}
	switch s := b.String(); {
	case s == "()", s == "() did not return" && n.Root == trace.RootMain: // most programs end so
		return ""
	case s != "" && left:
		return s + "; ..."
	default:
		return s
	}
}

// ValuesLen is the length in bytes of what a line of text says of the node's values.
func (n *Node) ValuesLen() int {
	if n.Values == nil {
		return 0
	}
	return len(n.values())
}

// activation writes one call, in full with names and types.
func activation(a *trace.Activation, full bool) string {
	s := "(" + valueList(a.Args, full) + ")"
	switch {
	case !a.Returned:
		s += " did not return"
	case len(a.Results) == 1 && (!full || a.Results[0].Name == ""):
		s += " -> " + valueList(a.Results, full)
	case len(a.Results) > 0:
		s += " -> (" + valueList(a.Results, full) + ")"
	}
	return s
}

func valueList(list []trace.Value, full bool) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = textOf(&list[i])
	}
	shorten(texts, maxArgs)
	for i := range list {
		if name := strings.TrimSpace(list[i].Name + " " + list[i].Type); full && name != "" {
			texts[i] = printable(name) + " = " + texts[i]
		}
	}
	return strings.Join(texts, ", ")
}

// shorten cuts the longest of texts until all together have about room characters.
func shorten(texts []string, room int) {
	sizes := make([]int, len(texts))
	for i, s := range texts {
		sizes[i] = utf8.RuneCountInString(s)
	}
	slices.Sort(sizes)
	most := 0 // that a text may have
	for i, n := range sizes {
		if most = room / (len(sizes) - i); n > most {
			break
		}
		room -= n
		most = n
	}
	for i, s := range texts {
		runes := []rune(s)
		if len(runes) > max(most, minText) {
			texts[i] = string(runes[:max(most, minText)]) + "..."
		}
	}
}

// textOf is a value's text, "?" if it could not be read.
func textOf(v *trace.Value) string {
	if v.Unread != "" {
		return "?"
	}
	return printable(v.Text)
}

// ValueChange is a value that two runs do not have in common.
type ValueChange struct {
	Call   int    // of the node's observed ones, from 1
	What   string // the argument's or result's name, or "result 2", or "return"
	Result bool
	A, B   string // texts; of a return, what became of the call
}

// firstChange compares the observed calls of two nodes, in order, and returns the
// first value that differs; nil if none does. Values that were not read in both are
// passed over.
func firstChange(a, b *Node) *ValueChange {
	for i := range min(len(a.Values), len(b.Values)) {
		x, y := &a.Values[i], &b.Values[i]
		if c := firstOfLists(x.Args, y.Args, "argument"); c != nil {
			c.Call = i + 1
			return c
		}
		if x.Returned != y.Returned {
			word := map[bool]string{true: "returned", false: "did not return"}
			return &ValueChange{Call: i + 1, What: "return", Result: true, A: word[x.Returned], B: word[y.Returned]}
		}
		if c := firstOfLists(x.Results, y.Results, "result"); c != nil {
			c.Call, c.Result = i+1, true
			return c
		}
	}
	return nil
}

func firstOfLists(a, b []trace.Value, kind string) *ValueChange {
	for i := range min(len(a), len(b)) {
		if a[i].Unread != "" || b[i].Unread != "" || a[i].Text == b[i].Text && a[i].Type == b[i].Type {
			continue
		}
		what := b[i].Name
		if what == "" || what == "_" {
			what = kind
			if len(b) > 1 {
				what += " " + strconv.Itoa(i+1)
			}
		}
		c := &ValueChange{What: what, A: a[i].Text, B: b[i].Text}
		if c.A == c.B {
			c.A, c.B = a[i].Type+" "+c.A, b[i].Type+" "+c.B
		}
		return c
	}
	return nil
}

// String is "emoji: false -> true". Of long texts it shows where they part; a call that
// is not the first is named.
func (c *ValueChange) String() string {
	a, b := parting(printable(c.A), printable(c.B))
	s := printable(c.What) + ": " + a + " -> " + b
	if c.Call > 1 {
		s += " in call " + strconv.Itoa(c.Call)
	}
	return s
}

// maxParting is how much is shown of a text from where it differs on, in bytes.
const maxParting = 48

// parting cuts two texts down to where they first differ.
func parting(a, b string) (string, string) {
	if len(a) <= maxParting && len(b) <= maxParting {
		return a, b
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	// Begin with the field, or the element, that differs.
	from := max(strings.LastIndex(a[:same], ", ")+2, strings.LastIndexAny(a[:same], "{[")+1)
	if from < 2 || same-from > maxParting {
		from = max(0, same-maxParting/2)
	}
	cut := func(s string) string {
		before, after := "", ""
		if from > 0 {
			before = "..."
		}
		s = strings.ToValidUTF8(s[from:], "")
		end := len(s)
		if i := strings.Index(s[min(same-from, end):], ", "); i >= 0 {
			end = same - from + i
		}
		if end = min(end, same-from+maxParting); end < len(s) {
			s, after = strings.ToValidUTF8(s[:end], ""), "..."
		}
		return before + s + after
	}
	return cut(a), cut(b)
}
