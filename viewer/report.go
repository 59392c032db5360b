package viewer

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
)

// DefaultReportSize is the limit of a report's data, in bytes: what a mail or an
// issue takes as an attachment. A run of 786 nodes and 184 functions takes half a
// megabyte.
const DefaultReportSize = 16 << 20

// reported is the data of a report.
type reported struct {
	Overview overview       `json:"overview"`
	Sources  map[int]text   `json:"sources"`          // by function
	Values   map[int]values `json:"values"`           // by node
	Prompt   account        `json:"prompt"`           // of the draft that the page began with
	Ranked   []listed       `json:"ranked,omitempty"` // for its question
	Omitted  []string       `json:"omitted,omitempty"`
}

// WriteReport writes the page as one file with the data in it, of at most limit
// bytes and what the page itself takes. It returns what was left out because the page has no
// room, a sentence for each kind; the report says so, too. A third of the room is
// for the tree, whose deepest levels go first, the rest for the prompt, then for
// sources and then for observed values, in the order of first calls.
func (p *Page) WriteReport(w io.Writer, limit int) (omitted []string, err error) {
	q, err := p.content.Question(p.overview.Draft)
	if err != nil {
		return nil, err
	}
	pr, err := q.Prompt()
	if err != nil {
		return nil, err
	}
	ranked, err := p.rank(p.overview.Draft.Question)
	if err != nil {
		return nil, err
	}
	data := reported{Overview: p.overview, Sources: map[int]text{}, Values: map[int]values{}, Prompt: p.account(pr), Ranked: ranked}
	data.Overview.Model = ""
	kept, levels := data.Overview.cut(limit / 3)
	if n := len(p.overview.Nodes.ID) - len(kept); n > 0 {
		data.Omitted = append(data.Omitted, fmt.Sprintf("of the call tree %d nodes, all that are deeper than level %d", n, levels))
	}
	left := limit - size(data.Overview)
	if n := size(data.Prompt); n > left {
		short := *pr
		short.Text = "(left out of this report: it would be too large)\n"
		data.Prompt.Prompt = &short
		data.Omitted = append(data.Omitted, fmt.Sprintf("the text of the prompt, %d bytes", len(pr.Text)))
	}
	left -= size(data.Prompt)
	missing := 0
	for i := range p.functions {
		t := p.source(i)
		n := size(t) + len(`"1234567":,`)
		if n > left {
			missing++
			continue
		}
		left -= n
		data.Sources[i] = t
	}
	if missing > 0 {
		data.Omitted = append(data.Omitted, fmt.Sprintf("the sources of %d of %d functions", missing, len(p.functions)))
	}
	missing = len(p.observed)
	for at, i := range kept {
		v, ok := p.values(i)
		n := size(v) + len(`"1234567":,`)
		if !ok || n > left {
			continue
		}
		left -= n
		data.Values[at] = v
		missing--
	}
	if missing > 0 {
		data.Omitted = append(data.Omitted, fmt.Sprintf("the observed values of %d of %d calls", missing, len(p.observed)))
	}
	// Marshal escapes <, > and &, so that no text of the program's ends the
	// element that holds it, or begins another.
	encoded, err := p.answers.Encode(&data)
	if err != nil {
		return nil, err
	}
	return data.Omitted, layout().Execute(w, shell{
		Policy: filePolicy(), Title: p.answers.Text(p.overview.Title) + " · tracerag",
		Style: template.CSS(style()), Script: template.JS(script()), Data: template.JS(encoded),
	})
}

// size is what a value takes as JSON.
func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0 // nothing here fails: numbers, strings and lists of them
	}
	return len(data)
}

// cut takes the deepest levels away until the nodes take at most so many bytes. It
// returns which nodes stayed, and how many levels.
func (o *overview) cut(limit int) (kept []int, levels int) {
	var at []int // nodes by depth
	for i, d := range o.Nodes.Depth {
		for len(at) <= d {
			at = append(at, 0)
		}
		at[d]++
		kept = append(kept, i)
	}
	total := size(o.Nodes)
	if total <= limit {
		return kept, len(at)
	}
	room := int(float64(len(kept)) * float64(limit) / float64(total))
	for levels < len(at) && at[levels] <= room {
		room -= at[levels]
		levels++
	}
	levels = max(levels, 1) // a page without roots shows nothing at all
	kept = slices.DeleteFunc(kept, func(i int) bool { return o.Nodes.Depth[i] >= levels })
	o.Nodes = o.Nodes.only(kept)
	if o.Diff != nil {
		diff := *o.Diff
		diff.First, diff.FirstOther = nearest(kept, diff.First), nearest(kept, diff.FirstOther)
		o.Diff = &diff
	}
	o.Start = nearest(kept, o.Start)
	return kept, levels
}

// nearest is where node i is among those that were kept, or the nearest before it:
// a parent is before its children. -1 stays -1.
func nearest(kept []int, i int) int {
	if i < 0 {
		return -1
	}
	at, found := slices.BinarySearch(kept, i)
	if !found {
		at--
	}
	return at
}

// only returns the nodes that were kept.
func (ns *nodes) only(kept []int) nodes {
	out := nodes{
		ID: pick(ns.ID, kept), Func: pick(ns.Func, kept), Depth: pick(ns.Depth, kept), Calls: pick(ns.Calls, kept),
		Marks: pick(ns.Marks, kept), Lines: pick(ns.Lines, kept), Go: map[int]string{},
		Change: pick(ns.Change, kept), Before: pick(ns.Before, kept), FuncWas: pick(ns.FuncWas, kept), Other: map[int]string{},
	}
	for at, i := range kept {
		if s, ok := ns.Go[i]; ok {
			out.Go[at] = s
		}
		if s, ok := ns.Other[i]; ok {
			out.Other[at] = s
		}
	}
	return out
}

// pick returns some elements of a column; one that is missing stays so.
func pick[T any](column []T, kept []int) []T {
	if column == nil {
		return nil
	}
	out := make([]T, len(kept))
	for at, i := range kept {
		out[at] = column[i]
	}
	return out
}
