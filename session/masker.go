package session

import (
	"fmt"
	"sync"

	"tracerag/redact"
	"tracerag/trace"
	"tracerag/visible"
)

// Masker hides the secrets of one output. A secret has the same placeholder in all
// of its parts, and what is masked in one place is masked in all of them.
//
// A nil *Masker masks nothing: all methods are fine with it.
type Masker struct {
	make func() *redact.Redactor

	mu       sync.Mutex
	redactor *redact.Redactor // nil: not needed yet
	learned  map[uint64]bool  // hashes of the texts that redactor has seen
	harmless *harmless        // texts in which nothing was found; may be nil
}

// NewMasker returns a masker whose redactor is made when it is needed first: that takes
// some milliseconds, and many commands show nothing.
func NewMasker(make func() *redact.Redactor) *Masker {
	return &Masker{make: make, learned: map[uint64]bool{}}
}

// KeepIn keeps in a directory, that of a [Session], which files have no secrets: to look
// for some takes a second for 12 MB of sources.
func (m *Masker) KeepIn(dir string) {
	if m != nil && dir != "" {
		m.harmless = &harmless{kept: kept{dir}}
	}
}

// Redactor returns what masks; nil of a nil masker.
func (m *Masker) Redactor() *redact.Redactor {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.redactor == nil {
		m.redactor = m.make()
	}
	return m.redactor
}

// Findings returns what was masked so far.
func (m *Masker) Findings() []redact.Finding {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	r := m.redactor
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.Findings()
}

// Fork returns a masker that knows what this one knows, and does not tell it what it
// learns: secrets have the same numbers in each fork, whatever was shown since.
func (m *Masker) Fork() *Masker {
	if m == nil {
		return nil
	}
	known := m.Redactor().Clone()
	return NewMasker(func() *redact.Redactor { return known })
}

// Err returns a [*MaskError] if the masker would hide everything: saying why is better.
func (m *Masker) Err() error {
	if m == nil {
		return nil
	}
	if err := m.Redactor().Err(); err != nil {
		return &MaskError{Err: err}
	}
	return nil
}

// MaskError says why nothing can be shown.
type MaskError struct{ Err error }

func (e *MaskError) Error() string { return fmt.Sprintf("secrets cannot be masked: %v", e.Err) }
func (e *MaskError) Unwrap() error { return e.Err }

// Trace returns a trace without the secrets that the masker knows or finds.
func (m *Masker) Trace(tr *trace.Trace) *trace.Trace {
	if m == nil {
		return tr
	}
	return tr.Masked(m.Redactor())
}

// Alone hides the secrets of a trace whose file is an output by itself: they have the
// numbers that they have in another one like it.
func (m *Masker) Alone(tr *trace.Trace) (*trace.Trace, error) {
	if m == nil {
		return tr, nil
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	r := m.Redactor().Numbered()
	tr = tr.Masked(r)
	if len(r.Findings()) > 0 {
		m.mu.Lock()
		m.redactor = r
		m.mu.Unlock()
	}
	return tr, nil
}

// Text hides the secrets in a text that is not a prompt's or a trace's, and escapes
// what a terminal would not show.
func (m *Masker) Text(text string) string {
	if m != nil {
		text = m.Redactor().Text(text)
	}
	return visible.Text(text)
}

// Clean is Text for what has been masked before, or comes from a model: only what is
// known to be secret is masked.
func (m *Masker) Clean(text string) string {
	if m != nil {
		text = m.Redactor().Known(text, false)
	}
	return visible.Text(text)
}

// CleanJSON is Clean for the strings in a text that is JSON.
func (m *Masker) CleanJSON(data []byte) []byte {
	text := string(data)
	if m != nil {
		text = m.Redactor().Known(text, true)
	}
	return []byte(visible.InJSON(text))
}
