package viewer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/trace"
)

// account is a prompt as the browser gets it.
type account struct {
	*prompt.Prompt
	// Places are the functions of the page that a row of the account is the
	// text of, by row, and Fits those of a row of what was made to fit a budget.
	Places [][]int `json:"places"`
	Fits   [][]int `json:"fits,omitempty"`
	Over   string  `json:"over,omitempty"` // why it cannot be sent
	// Rounds says that the question is asked in rounds rather than with this prompt.
	Rounds bool `json:"rounds,omitempty"`
}

func (p *Page) account(pr *prompt.Prompt) account {
	a := account{Prompt: pr, Places: make([][]int, len(pr.Functions)), Fits: make([][]int, len(pr.Shown))}
	for i := range pr.Functions {
		a.Places[i] = p.indices(pr.Functions[i].Holds)
	}
	for i := range pr.Shown {
		a.Fits[i] = p.indices(pr.Shown[i].Holds)
	}
	if err := pr.CheckWindow(); err != nil {
		a.Over = oneWarning(err)
	}
	return a
}

// oneWarning is the text of an error. Of a prompt that is too long it is a sentence: the
// page lists the largest functions, and has the budget, beside it.
func oneWarning(err error) string {
	if e, ok := errors.AsType[*prompt.OverWindowError](err); ok {
		return fmt.Sprintf("One prompt with everything has %s tokens, more than the %s that %s takes: set a budget to make it shorter.",
			phrase.Number(e.Total), phrase.Number(e.Window), cmp.Or(e.Model, "a model"))
	}
	return err.Error()
}

// indices are the functions of the page that fns are.
func (p *Page) indices(fns []trace.Function) []int {
	out := []int{}
	for _, fn := range fns {
		if i, ok := p.index[fn]; ok {
			out = append(out, i)
		}
	}
	return out
}

// event is a line of a streamed answer: a prompt that was sent, a piece of the answer, or
// its end.
type event struct {
	Round     *round     `json:"round,omitempty"`
	Text      string     `json:"text,omitempty"`
	Done      bool       `json:"done,omitempty"`
	Error     string     `json:"error,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
	Citations []citation `json:"citations,omitempty"`
}

// round is a prompt of a question that is asked in rounds.
type round struct {
	Number int    `json:"number"`
	Of     int    `json:"of"`
	Reads  []read `json:"reads,omitempty"`
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
}

// read is what a model wanted to read, and where the page has it.
type read struct {
	Text string `json:"text"`
	Func *int   `json:"func,omitempty"`
	Line int    `json:"line,omitempty"`
}

// events sends what is written to it, each piece at once.
type events struct {
	w     io.Writer
	page  *Page
	flush func() error
	said  strings.Builder
	sent  []string // prompts
}

// Sent implements [Listener].
func (e *events) Sent(r Round) {
	e.sent = append(e.sent, r.Prompt.Text)
	if r.Of < 2 {
		return // the page has that prompt
	}
	out := round{Number: r.Number, Of: r.Of, Tokens: r.Prompt.Total, Text: r.Prompt.Text}
	for _, q := range r.Reads {
		to := read{Text: q.String(), Line: q.From}
		if i, _, ok := e.page.locate(prompt.Citation{Kind: prompt.CitesFunction, Text: q.Name}); ok {
			to.Func = &i
		}
		out.Reads = append(out.Reads, to)
	}
	e.send(event{Round: &out})
}

func (e *events) Write(b []byte) (int, error) {
	e.said.Write(b)
	if err := e.send(event{Text: string(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (e *events) send(v event) error {
	data, err := e.page.answers.Encode(v)
	if err == nil {
		_, err = e.w.Write(append(data, '\n'))
	}
	return cmp.Or(err, e.flush())
}

// citation is what an answer cites, and where the page has it.
type citation struct {
	Text  string `json:"text"`
	Known bool   `json:"known"`          // it is in the prompt
	Func  *int   `json:"func,omitempty"` // of the page; nil: the page does not know it
	Line  int    `json:"line,omitempty"`
}

// cited looks up what an answer cites.
func (p *Page) cited(answer, sent string) []citation {
	var out []citation
	for _, c := range prompt.CheckCitations(answer, sent) {
		to := citation{Text: c.Text, Known: c.Known}
		if i, line, ok := p.locate(c); ok {
			to.Func, to.Line = &i, line
		}
		out = append(out, to)
	}
	return out
}

var positionPattern = regexp.MustCompile(`^(.+\.(?:go|s))(?::|#)L?(\d+)`)

// locate finds the function that a citation means.
func (p *Page) locate(c prompt.Citation) (fn, line int, ok bool) {
	if c.Kind == prompt.CitesPosition {
		m := positionPattern.FindStringSubmatch(c.Text)
		if m == nil {
			return 0, 0, false
		}
		line, _ = strconv.Atoi(m[2])
		return p.at(m[1], line)
	}
	name := strings.TrimSuffix(strings.TrimSpace(c.Text), "()")
	bare := strings.NewReplacer("(", "", ")", "", "*", "")
	for i, f := range p.overview.Functions {
		full := bare.Replace(f.Name)
		if want := bare.Replace(name); want != "" && (full == want || strings.HasSuffix(full, "."+want)) {
			return i, 0, true
		}
	}
	return 0, 0, false
}

// at finds the smallest function around a line. A prompt names files of
// dependencies by a short name of the module, which represents all but the last
// elements of ours.
func (p *Page) at(file string, line int) (fn, atLine int, ok bool) {
	want := strings.Split(file, "/")
	slices.Reverse(want)
	best, smallest := 0, 0
	for i, f := range p.functions {
		if base(f.fn.File) != want[0] {
			continue
		}
		t := p.content.Runs[f.run].Source(f.fn)
		if t.Body == "" || line < min(t.DocStart, t.Start) || line > t.End {
			continue
		}
		have := strings.Split(t.Display, "/")
		slices.Reverse(have)
		same := 0
		for same < min(len(have), len(want)) && have[same] == want[same] {
			same++
		}
		if size := t.End - t.Start; same > best || same == best && size < smallest {
			fn, best, smallest, ok = i, same, size, true
		}
	}
	return fn, line, ok
}
