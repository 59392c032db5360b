package guided

import (
	"fmt"
	"strings"

	"tracerag/llm/metered"
	"tracerag/visible"
)

// item is a unit in a list.
type item struct {
	names []string // that a reply may have for it; the first is shown
	rest  string   // behind the name, on its line
	lines []string // below it
	under bool     // it is shown below the one above
}

// text is an item as a model sees it. What a repository calls its things stays on its line.
func (i *item) text(number int) string {
	indent := ""
	if i.under {
		indent = "  "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s[%d] %s", indent, number, visible.Line(i.names[0]))
	if i.rest != "" {
		b.WriteString(cut(visible.Line(i.rest), longestLine))
	}
	b.WriteByte('\n')
	for _, l := range i.lines {
		fmt.Fprintf(&b, "%s    %s\n", indent, cut(visible.Line(l), longestLine))
	}
	return b.String()
}

// longestLine is how many bytes of a line a model sees.
const longestLine = 300

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// pick is an item that a model chose, and why.
type pick struct {
	at  int // of the items
	why string
}

// query is a question about a list.
type query struct {
	kind   string // "rerank"
	ask    string // what is to be chosen
	items  []item
	most   int // choices that are asked for
	tokens int // that the list may have, beside the window
}

// form is how a model answers.
const form = `Answer with one line for each choice, the likeliest first: its number in brackets, then why, in at most 20 words:
[7] computes the width that the report says is wrong
Choose at most %d. Answer NONE if none fits.`

// choose asks the model for some of the items, the first of them that fit. It returns what
// the model chose, in its order, and how many it was shown.
func (t *task) choose(q query) (picks []pick, shown int, err error) {
	end := fmt.Sprintf(form, q.most)
	list, report, shown, err := t.fit(q, end)
	if err != nil {
		return nil, 0, err
	}
	r := reply{items: q.items[:shown], most: q.most}
	user := q.ask + "\n\n" + fenced(part{"REPORT", report}, part{"LIST", list}) + end
	err = t.Model.AskInForm(t.ctx, metered.Question{Kind: q.kind, System: system, User: user}, r.read)
	if err != nil {
		return nil, shown, err
	}
	for _, name := range r.unknown {
		t.note("%s: the model chose %q, which is not in the list", q.kind, cut(visible.Line(name), 100))
	}
	return r.picks, shown, nil
}

// fit returns the report and as many items as the window, and the query, have room for.
func (t *task) fit(q query, around ...string) (list, report string, shown int, err error) {
	room := t.Model.Room(append(around, system, q.ask, fenced(part{"REPORT", ""}, part{"LIST", ""}))...)
	report = t.report(room / 3)
	left := room - t.Model.Count(report)
	if q.tokens > 0 {
		left = min(left, q.tokens)
	}
	left -= left / 50 // two texts may have a token more together than each by itself
	var b strings.Builder
	for i := range q.items {
		text := q.items[i].text(i + 1)
		n := t.Model.Count(text)
		if n > left {
			break
		}
		left -= n
		b.WriteString(text)
		shown++
	}
	if shown == 0 && len(q.items) > 0 {
		need := t.Model.Count(q.items[0].text(1)) + t.Model.Count(report) + t.Model.Room() - room
		return "", "", 0, &metered.TooLongError{Kind: q.kind, Tokens: need, Room: t.Model.Room()}
	}
	if n := len(q.items) - shown; n > 0 {
		t.note("%s: the list was cut, %d of %d are not in it", q.kind, n, len(q.items))
	}
	return b.String(), report, shown, nil
}

// mostReport is how many tokens of a report are sent.
const mostReport = 3000

// report returns the report, or its beginning and end if it is long.
func (t *task) report(room int) string {
	room = max(0, min(room, mostReport))
	text := strings.TrimSpace(visible.Text(t.q.Text))
	if text = middleCut(text, 8*mostReport); t.Model.Count(text) <= room {
		return text
	}
	low, high := 0, len(text) // bytes that fit, and that do not
	for low+16 < high {
		if n := (low + high) / 2; t.Model.Count(middleCut(text, n)) <= room {
			low = n
		} else {
			high = n
		}
	}
	return middleCut(text, low)
}

// middleCut leaves out the middle of a text: what is wrong is at its ends.
func middleCut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n*2/3], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-n/3:], "")
}
