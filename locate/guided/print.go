package guided

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tracerag/visible"
)

// Text writes an answer for people: as package locate does, and behind it the lists of the model,
// the way to each function, and what the model looked at.
func (a *Answer) Text(w io.Writer, cwd string) error {
	if err := a.Answer.Write(w, cwd); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	for _, l := range []struct {
		title string
		list  []Listed
	}{{"To write", a.Write}, {"To read", a.Read}, {"To add", a.New}} {
		if len(l.list) > 0 {
			fmt.Fprintf(b, "\n%s\n", l.title)
		}
		for _, x := range l.list {
			fmt.Fprintf(b, "     %s\n", visible.Line(x.String()))
		}
	}
	if len(a.Ways) > 0 {
		fmt.Fprintf(b, "\nThe way to each\n")
	}
	for i, way := range a.Ways {
		if len(way) > 0 {
			fmt.Fprintf(b, "%3d  %s\n", i+1, visible.Line(steps(way)))
		}
	}
	if len(a.Steps) > 0 {
		fmt.Fprintf(b, "\nWhat the model looked at\n")
	}
	for _, s := range a.Steps {
		fmt.Fprintf(b, "     %s\n", visible.Line(s.Name+because(s.Why)))
	}
	if a.Plan != "" {
		fmt.Fprintf(b, "\nWhat the model would change\n")
		for line := range strings.Lines(a.Plan) {
			fmt.Fprintf(b, "     %s\n", visible.Line(strings.TrimSpace(line)))
		}
	}
	return b.Flush()
}

// String is a place on one line, with the reason.
func (l Listed) String() string {
	text := l.File
	if l.Repository != "" {
		text = l.Repository + ": " + text
	}
	if l.Name != "" {
		text = l.Name + "  " + text
	}
	return text + because(l.Why)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return "  (" + why + ")"
}

func steps(way []Step) string {
	var out []string
	for _, s := range way {
		out = append(out, s.Level+" "+s.Name+because(s.Why))
	}
	return strings.Join(out, " > ")
}
