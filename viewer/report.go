package viewer

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

// DefaultReportSize is the limit of a report's data, in bytes: what a mail or an
// issue takes as an attachment, about 5,000 functions.
const DefaultReportSize = 16 << 20

// reported is the data of a report.
type reported struct {
	Overview overview     `json:"overview"`
	Sources  map[int]text `json:"sources"` // by function
	Prompt   account      `json:"prompt"`  // of the draft that the page began with
	Omitted  []string     `json:"omitted,omitempty"`
}

// WriteReport writes the page as one file with the data in it, of at most limit
// bytes and what the page itself takes. It returns what was left out for want of
// room, a sentence for each kind; the report says so, too. A third of the room is
// for the tree, whose deepest levels go first, the rest for the prompt and then
// for sources, in the order of first calls.
func (p *Page) WriteReport(w io.Writer, limit int) (omitted []string, err error) {
	pr, err := p.content.Prompt(p.overview.Draft)
	if err != nil {
		return nil, err
	}
	data := reported{Overview: p.overview, Sources: map[int]text{}, Prompt: p.account(pr)}
	data.Overview.Model = ""
	if n, depth := data.Overview.cut(limit / 3); n > 0 {
		data.Omitted = append(data.Omitted, fmt.Sprintf("of the call tree %d nodes, all that are deeper than level %d", n, depth))
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
	// Marshal escapes <, > and &, so that no text of the program's ends the
	// element that holds it, or begins another.
	encoded, err := json.Marshal(&data)
	if err != nil {
		return nil, err
	}
	return data.Omitted, layout.Execute(w, shell{
		Policy: filePolicy(), Title: p.overview.Title + " · tracerag",
		Style: template.CSS(style), Script: template.JS(script), Data: template.JS(encoded),
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
// returns how many nodes went, and how many levels stayed.
func (o *overview) cut(limit int) (gone, levels int) {
	n := len(o.Nodes.ID)
	total := size(o.Nodes)
	if total <= limit {
		return 0, 0
	}
	room := int(float64(n) * float64(limit) / float64(total))
	var at []int // nodes by depth
	for _, d := range o.Nodes.Depth {
		for len(at) <= d {
			at = append(at, 0)
		}
		at[d]++
	}
	kept := 0
	for levels < len(at) && kept+at[levels] <= room {
		kept += at[levels]
		levels++
	}
	levels = max(levels, 1) // a page without roots shows nothing at all
	o.Nodes, o.Diff = o.Nodes.above(levels, o.Diff)
	return n - len(o.Nodes.ID), levels
}

// above returns the nodes of the first levels, and the difference with its node
// renumbered: where that one is gone, the nearest above it.
func (ns *nodes) above(levels int, diff *diffFacts) (nodes, *diffFacts) {
	var out nodes
	first := -1
	for i, d := range ns.Depth {
		if d < levels {
			if g, ok := ns.Go[i]; ok {
				if out.Go == nil {
					out.Go = map[int]string{}
				}
				out.Go[len(out.ID)] = g
			}
			out.ID = append(out.ID, ns.ID[i])
			out.Func = append(out.Func, ns.Func[i])
			out.Depth = append(out.Depth, d)
			out.Calls = append(out.Calls, ns.Calls[i])
			out.Marks = append(out.Marks, ns.Marks[i])
			out.Lines = append(out.Lines, ns.Lines[i])
			if ns.Change != nil {
				out.Change = append(out.Change, ns.Change[i])
				out.Before = append(out.Before, ns.Before[i])
				out.FuncWas = append(out.FuncWas, ns.FuncWas[i])
			}
		}
		if diff != nil && i == diff.First {
			first = len(out.ID) - 1
		}
	}
	if diff == nil {
		return out, nil
	}
	return out, &diffFacts{diff.Summary, first, diff.Why}
}
