package prompt

import (
	"fmt"

	"tracerag/trace"
)

// Reader shows recorded runs in pieces, to a model or to an agent that chooses what it
// reads: an index of the functions that ran ([Reader.Index]), then what is asked for of it
// ([Reader.Read]). Sources are as a prompt has them, masked and with
// line numbers, under the same headings, so that [CheckCitations] knows what was shown.
//
// Words choose badly where a question and the code share none. Who sees the names of all
// functions that ran can choose well, and reads a tenth of them.
type Reader struct {
	m        *material
	o        Options
	all      []*entry   // in the order of first calls; made when they are first needed
	packages []*entries // likewise
	score    func(trace.Function) (float64, string)
	shown    map[*entry]bool // sources that were read
	partly   map[*entry]bool // of these some lines that were asked for, and no more
	declared map[*item]bool  // types that were read
	terse    bool            // for an agent, see [Reader.Context]
}

// Reading is what a [Reader] writes.
type Reading struct {
	Name   string // "csvview.(*Table).Render"
	Text   string // heading and source
	Tokens int
	Tier   Tier // how much of the function it is
	Elided int  // lines that are left out

	// Holds are the functions of the call trees whose text it is: the function, closures
	// within it, instances of a generic one.
	Holds []trace.Function
}

// NewReader returns one for the runs of an input. Of the options it takes the model, the
// counter of tokens and the format.
func NewReader(in Input, o Options) (*Reader, error) {
	o = Options{Model: o.Model, Counter: o.Counter, Window: o.Window, Format: o.Format}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(in.Runs) < 1 || len(in.Runs) > 2 {
		return nil, fmt.Errorf("one run or two can be read, not %d", len(in.Runs))
	}
	if err := in.checkStatic(&o); err != nil {
		return nil, err
	}
	m, err := collect(in)
	if err != nil {
		return nil, err
	}
	m.number()
	return &Reader{m: m, o: o, score: in.Score, shown: map[*entry]bool{}, partly: map[*entry]bool{}, declared: map[*item]bool{}}, nil
}

func (r *Reader) reading(it *item) Reading {
	text := r.o.item(it)
	return Reading{Name: it.name, Text: text, Tokens: r.o.Counter.Count(text), Tier: it.tier, Elided: it.elided, Holds: it.holds}
}

// atMost is what fits of an item into so many tokens, its signature whatever it takes.
func (m *material) atMost(it *item, o *Options, most int) *item {
	tokens := func(form *item) int { return o.Counter.Count(o.item(form)) }
	best := m.at(it, TierRan)
	if best == nil {
		best = it
	}
	if most <= 0 || tokens(best) <= most {
		return best
	}
	for room := most * 3; room >= most; room = room * 3 / 4 {
		if w := m.around(it, room); w != nil && tokens(w) <= most {
			return w
		}
	}
	if s := m.at(it, TierSignature); s != nil {
		return s
	}
	return best
}

// declaration is a declaration as it is shown: a large one is cut to what the sources use.
func (r *Reader) declaration(d *item, sources []*item) *item {
	if r.o.Counter.Count(d.text) > largeDeclaration {
		if cut := r.m.used(d, sources); cut != nil {
			return cut
		} else if cut := r.m.at(d, TierWindow); cut != nil && len(d.text) > windowBytes {
			return cut
		}
	}
	return d
}
