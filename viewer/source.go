package viewer

import (
	"strings"

	"tracerag/source"
)

// text is the source of one function as the browser gets it.
type text struct {
	Place string `json:"place,omitempty"` // "internal/table/table.go"
	Start int    `json:"start,omitempty"` // line of the first of Lines
	Decl  int    `json:"decl,omitempty"`  // line of the declaration, behind its doc comment
	Lines []line `json:"lines,omitempty"`
	Note  string `json:"note,omitempty"` // why it is missing, or why it may differ from what ran
	// Ran has a trace.LineState for each of Lines, over all calls of the function
	// in its run. "": the lines were not watched.
	Ran string `json:"ran,omitempty"`
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
		out.Lines = plain(body)
	} else {
		out.Lines = highlight(body)
	}
	if ran, ok := p.lines[fn]; ok {
		states := make([]byte, len(out.Lines))
		for k := range states {
			states[k] = byte(ran.At(out.Start + k))
		}
		out.Ran = string(states)
	}
	return out
}
