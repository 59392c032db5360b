package prompt

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/phrase"
	"tracerag/prompt/tokens"
)

// segment is a piece of a prompt within one section.
type segment struct {
	section string
	text    string
	uses    []use
}

// use says that an item is in a segment, as text.
type use struct {
	item *item
	text string
}

// LongFrom is the length in tokens from which a prompt gets a warning: answers
// get worse with the length of the input alone, long before the window is
// full (Levy et al. 2024, arXiv:2402.14848).
const LongFrom = 32_000

// answerRoom is what an answer should have left; with less a warning is due.
const answerRoom = 4_096

// account puts the segments together and counts their tokens. Segments end in
// a line break and begin with something other than white space or a slash, so
// that the sections' counts sum up to the total (see package tokens); those of
// an estimate do but for rounding.
func account(segments []segment, o Options) *Prompt {
	var text strings.Builder
	p := &Prompt{Model: o.Model, Encoding: o.Counter.Encoding(), Estimated: !o.Counter.Exact(), Functions: []FunctionTokens{}} // in JSON a list, never null
	at := map[*item]int{}
	for i := 0; i < len(segments); {
		start := text.Len()
		section := segments[i].section
		for ; i < len(segments) && segments[i].section == section; i++ {
			text.WriteString(segments[i].text)
			for _, u := range segments[i].uses {
				p.use(u, at, o.Counter)
			}
		}
		s := text.String()[start:]
		p.Sections = append(p.Sections, Section{section, o.Counter.Count(s), strings.Count(s, "\n")})
	}
	p.Text = text.String()
	p.Total = o.Counter.Count(p.Text)
	p.Window = o.Window
	if p.Window == 0 {
		m, known := tokens.Lookup(o.Model)
		p.Window = m.Window
		if !known && o.Model != "" {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the context window of %s is unknown: %s tokens are assumed", o.Model, phrase.Number(p.Window)))
		}
	}
	p.Left = p.Window - p.Total
	switch {
	case p.Left >= 0 && p.Left < answerRoom:
		p.Warnings = append(p.Warnings, fmt.Sprintf("the prompt leaves %s of %s tokens for the answer", phrase.Number(p.Left), phrase.Number(p.Window)))
	case p.Total >= LongFrom:
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the prompt has %s tokens: from %s on answers get worse with length alone; a budget, a narrower call tree, a baseline and recording fewer packages make it shorter", phrase.Number(p.Total), phrase.Number(LongFrom)))
	}
	return p
}

func (p *Prompt) use(u use, at map[*item]int, c tokens.Counter) {
	list := &p.Functions
	if u.item.declaration {
		list = &p.Types
	}
	i, ok := at[u.item]
	if !ok {
		i = len(*list)
		at[u.item] = i
		*list = append(*list, FunctionTokens{
			Name:     u.item.name,
			Position: u.item.position,
			Tokens:   c.Count(u.text),
			Lines:    strings.Count(u.text, "\n"),
			Tier:     u.item.tier,
			Holds:    u.item.holds,
		})
	}
	(*list)[i].Times++
}

// OverWindowError says that a prompt does not fit into its model's window.
type OverWindowError struct {
	Model     string // may be empty
	Window    int
	Total     int
	Estimated bool
	Largest   []FunctionTokens // at most five, by the tokens they take in all
}

// CheckWindow returns an *OverWindowError if the prompt does not fit into the
// model's window. Anyone who sends a prompt calls it first: some endpoints cut
// what is too long without a word.
func (p *Prompt) CheckWindow() error {
	if p.Left >= 0 {
		return nil
	}
	largest := slices.Concat(p.Functions, p.Types)
	slices.SortStableFunc(largest, func(a, b FunctionTokens) int { return b.Tokens*b.Times - a.Tokens*a.Times })
	return &OverWindowError{p.Model, p.Window, p.Total, p.Estimated, largest[:min(len(largest), 5)]}
}

func (e *OverWindowError) Error() string {
	var b strings.Builder
	about, of := "", "the context window"
	if e.Estimated {
		about = "about "
	}
	if e.Model != "" {
		of += " of " + e.Model
	}
	fmt.Fprintf(&b, "the prompt has %s%s tokens, but %s is %s", about, phrase.Number(e.Total), of, phrase.Number(e.Window))
	if len(e.Largest) > 0 {
		b.WriteString("\nlargest functions:")
	}
	for _, f := range e.Largest {
		fmt.Fprintf(&b, "\n  %s tokens", phrase.Number(f.Tokens*f.Times))
		if f.Times > 1 {
			fmt.Fprintf(&b, " (%s times %s)", phrase.Number(f.Times), phrase.Number(f.Tokens))
		}
		b.WriteString("  " + f.Name)
		if f.Position != "" {
			b.WriteString("  " + f.Position)
		}
	}
	return b.String()
}

// WholeFunctions are the functions (linker names) whose whole declarations the prompt
// holds.
func (p *Prompt) WholeFunctions() (names []string) {
	for _, f := range p.Functions {
		if f.Tier == TierFull {
			for _, held := range f.Holds {
				names = append(names, held.Name)
			}
		}
	}
	return names
}
