package redact

import (
	"maps"
	"slices"
	"strings"
)

// What is known of secrets is masked once more where text becomes output, whatever
// was done to it before: [Redactor.Known], and [Stream] for a text that comes in
// pieces. No rule is tried there. So it costs next to nothing, and a text that was
// masked already stays as it is.

// JSONText says that a text is JSON: the names of an object's fields are the
// program's own, and stay. Secrets in strings are found as JSON spells them.
type JSONText bool

// Known masks what is known to be secret, wherever it is in a text.
func (r *Redactor) Known(text string, json JSONText) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put(text, r.knownIn(text, 0, r.keptIn(text), json))
}

// Learner teaches a redactor what an output will hold, before any of it is masked.
// What it is given comes back with secrets masked, and they count as masked nowhere.
type Learner struct{ r *Redactor }

// Learner returns what teaches r. It is a trace.Masker.
func (r *Redactor) Learner() Learner { return Learner{r} }

// Text learns from a text.
func (l Learner) Text(text string) string {
	l.r.Learn(text)
	return text
}

// Finds shows it a text, and reports whether the rules find anything there. Where they do
// not, the same rules find nothing in that text another time.
func (l Learner) Finds(text string) bool {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	kept := l.r.placeholders(text)
	hits := l.r.find(text, kept)
	return len(kept) > 0 || len(hits) > 0 || l.r.Err() != nil
}

// Args learns from a command line as [Redactor.Args] masks it.
func (l Learner) Args(argv []string) []string {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.learning = true
	defer func() { l.r.learning = false }()
	return l.r.args(argv)
}

// Value learns from a value as [Redactor.Value] masks it.
func (l Learner) Value(name, text string) string {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.learning = true
	defer func() { l.r.learning = false }()
	return l.r.value(name, text)
}

// Clone returns a redactor that knows what r knows, and gives secrets the numbers that
// they have there: what is masked by one of them looks the same whatever the other is
// given.
func (r *Redactor) Clone() *Redactor {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Redactor{rules: r.rules, ids: map[string]int{}, counts: map[string]int{}, forms: r.forms.clone(), found: slices.Clone(r.found)}
	maps.Copy(out.ids, r.ids)
	maps.Copy(out.counts, r.counts)
	return out
}

// Numbered returns a redactor that knows what r knows, and gives numbers anew.
func (r *Redactor) Numbered() *Redactor {
	out := r.Clone()
	clear(out.counts)
	for i := range out.found {
		out.found[i].Number, out.found[i].Places = 0, 0
	}
	return out
}

// Placed returns a redactor that knows what r has masked so far, by the same numbers, and
// nothing else that r knows.
func (r *Redactor) Placed() *Redactor {
	out := r.Clone()
	maps.DeleteFunc(out.ids, func(_ string, id int) bool { return out.found[id].Places == 0 })
	out.forms = newForms()
	for text, f := range r.forms.all {
		if out.found[f.id].Places > 0 {
			out.forms.add(text, f)
		}
	}
	return out
}

// knownIn returns where forms are in a text, in order and apart from each other: of
// those that begin first the longest. What is kept is passed over. Before is the byte
// before the text, 0 for none.
func (r *Redactor) knownIn(text string, before byte, kept ranges, json JSONText) []hit {
	if len(r.forms.all) == 0 {
		return nil
	}
	var hits []hit
	for i := 0; i < len(text); i++ {
		if !r.forms.may(text, i) {
			continue
		}
		if i > 0 {
			before = text[i-1]
		}
		for f, to := range r.forms.at(text, i) {
			switch {
			case kept.overlap(i, to):
				continue
			case f.whole && (inWord(text, i, to) || i == 0 && letter(before) && letter(text[0])):
				continue
			case bool(json) && before == '"' && strings.HasPrefix(text[to:], `":`):
				continue
			}
			hits = append(hits, hit{i, to, f.id})
			i = to - 1
			break
		}
	}
	return hits
}

// put puts placeholders in the place of hits.
func (r *Redactor) put(text string, hits []hit) string {
	if len(hits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, h := range hits {
		b.WriteString(text[at:h.from])
		b.WriteString(r.placeholder(h.id))
		b.WriteString(strings.Repeat("\n", strings.Count(text[h.from:h.to], "\n")))
		at = h.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// keptIn returns where a text was masked before, unless nothing would be masked in it.
func (r *Redactor) keptIn(text string) ranges {
	if len(r.forms.all) == 0 {
		return nil
	}
	return r.placeholders(text)
}

// Stream masks what is known in a text that comes in pieces: a secret that is split
// over several is held back until it is whole.
type Stream struct {
	JSON    JSONText
	pending string
	before  byte // the one that was let go last
}

// Next adds a piece, and returns what of the text may go on, masked. A nil redactor
// masks nothing.
func (s *Stream) Next(r *Redactor, piece string) string {
	s.pending += piece
	if r == nil {
		return s.let(len(s.pending), nil, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.forms.begun(s.pending, s.JSON)
	hits := r.knownIn(s.pending, s.before, r.keptIn(s.pending), s.JSON)
	for i, h := range hits {
		if h.to <= end {
			continue
		}
		if h.from < end {
			end = h.to // it is whole, and what began within it is a part of it
			i++
		}
		hits = hits[:i]
		break
	}
	return s.let(end, r, hits)
}

// Empty reports that nothing is held back.
func (s *Stream) Empty() bool { return s.pending == "" }

// Rest returns what was held back, at the end of the text.
func (s *Stream) Rest(r *Redactor) string {
	if r == nil {
		return s.let(len(s.pending), nil, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.let(len(s.pending), r, r.knownIn(s.pending, s.before, r.keptIn(s.pending), s.JSON))
}

func (s *Stream) let(n int, r *Redactor, hits []hit) string {
	text := s.pending[:n]
	s.pending = s.pending[n:]
	if n > 0 {
		s.before = text[n-1]
	}
	if r == nil {
		return text
	}
	return r.put(text, hits)
}
