package viewer

import (
	"strings"

	"tracerag/source"
	"tracerag/viewer/highlight"
)

// text is the source of one function as the browser gets it.
type text struct {
	Place string           `json:"place,omitempty"` // "internal/table/table.go"
	Start int              `json:"start,omitempty"` // line of the first of Lines
	Decl  int              `json:"decl,omitempty"`  // line of the declaration, behind its doc comment
	Lines []highlight.Line `json:"lines,omitempty"`
	Note  string           `json:"note,omitempty"` // why it is missing, or why it may differ from what ran
	// Idle has an "n" for each of Lines that did not run in any call of the function, and
	// else a ".". "": all of it ran, or the lines were not watched.
	Idle string `json:"idle,omitempty"`
}

// source returns the text of function i.
func (p *Page) source(i int) text {
	fn := p.functions[i]
	t := p.content.Runs[fn.run].Source(fn.fn)
	out := text{Place: t.Display, Note: t.Warning, Start: t.Start, Decl: t.Start}
	switch {
	case t.Kind == source.Generated:
		out.Note = "made by the compiler or a tool, without source"
		return out
	case t.Body == "":
		if out.Note == "" {
			out.Note = "no source was found"
		}
		return out
	}
	body := t.Body
	if t.Doc != "" {
		body = strings.TrimRight(t.Doc, "\n") + "\n" + body
		if t.DocStart > 0 {
			out.Start = t.DocStart
		}
	}
	body = strings.ToValidUTF8(body, "\uFFFD")
	if t.Kind == source.Assembly {
		out.Lines = highlight.Plain(body)
	} else {
		out.Lines = highlight.Go(body)
	}
	if idle := p.idle(fn.fn, t, out.Start, len(out.Lines)); idle != nil {
		states := []byte(strings.Repeat(".", len(idle)))
		for k := range idle {
			if idle[k] {
				states[k] = 'n'
			}
		}
		out.Idle = string(states)
	}
	return out
}
