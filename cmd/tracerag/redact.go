package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"tracerag/llm"
	"tracerag/redact"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/visible"
)

// What tracerag prints is read by agents and pasted into issues as often as it is
// read at the terminal where it appears. So every command that shows a trace
// masks secrets: load and open show the masker all that the output may hold, and then
// mask the trace; promptInput and maskedSource mask sources. What is known by then is
// masked once more on its way out, in output.go.

func (a *app) redactFlag(f *pflag.FlagSet) {
	a.canLeave = true
	f.BoolVar(&a.noRedact, "no-redact", false, "leave secrets as they are, instead of putting [REDACTED:KIND:N] in their place")
}

// newMasker returns what hides the secrets of one output.
func (a *app) newMasker() *redact.Redactor {
	known := redact.Environment(os.Environ())
	// A key that cannot be read is no secret that could be shown.
	if c, err := llm.FromEnv(a.getenv, llm.Config{}); err == nil && c.APIKey != "" {
		known = append([]redact.Secret{{Kind: "api-key", Value: c.APIKey}}, known...)
	}
	return redact.New(known...)
}

// masker is what hides the secrets of this command's output.
func (a *app) masker() *redact.Redactor {
	if a.redactor == nil {
		a.redactor = a.newMasker()
	}
	return a.redactor
}

// canMask returns an error if the masker would hide everything: saying why is better.
func (a *app) canMask() error {
	if a.noRedact {
		return nil
	}
	if err := a.masker().Err(); err != nil {
		return fmt.Errorf("secrets cannot be masked: %w\nbuild tracerag with the version of gitleaks in its go.mod, or have it mask nothing: --no-redact", err)
	}
	return nil
}

// load loads a trace to be shown.
func (a *app) load(s *store.Store, name string) (*trace.Trace, store.Entry, error) {
	tr, e, err := a.loadRaw(s, name)
	if err == nil {
		a.learn(tr, a.resolver(tr, nil), withoutSources)
		tr = a.maskedTrace(tr)
	}
	return tr, e, err
}

// loadRaw loads a trace that is to be masked when the masker has learned all that
// stands beside it.
func (a *app) loadRaw(s *store.Store, name string) (*trace.Trace, store.Entry, error) {
	tr, e, err := s.Load(name)
	if err == nil {
		err = a.canMask()
	}
	if err != nil {
		return nil, e, err
	}
	return tr, e, nil
}

// maskedTrace returns a trace without the secrets that the masker knows or finds.
func (a *app) maskedTrace(tr *trace.Trace) *trace.Trace {
	if a.noRedact {
		return tr
	}
	return tr.Masked(a.masker())
}

// loadHead loads what a trace is without its nodes.
func (a *app) loadHead(s *store.Store, name string) (*trace.Head, store.Entry, error) {
	h, e, err := s.Head(name)
	if err == nil {
		err = a.canMask()
	}
	if err != nil {
		return nil, e, err
	}
	a.learnHead(h)
	h.Trace = a.maskedTrace(h.Trace)
	return h, e, nil
}

// maskedAlone hides the secrets of a trace whose file is an output by itself: they
// have the numbers that they have in another one like it.
func (a *app) maskedAlone(tr *trace.Trace) (*trace.Trace, error) {
	if a.noRedact {
		return tr, nil
	}
	if err := a.canMask(); err != nil {
		return nil, err
	}
	r := a.masker().Numbered()
	tr = tr.Masked(r)
	if len(r.Findings()) > 0 {
		a.redactor = r
	}
	return tr, nil
}

// mask hides the secrets in a text that is not a prompt's or a trace's, and escapes
// what a terminal would not show.
func (a *app) mask(text string) string {
	if !a.noRedact {
		text = a.masker().Text(text)
	}
	return visible.Text(text)
}

// clean is mask for what has been masked before, or was said by a model: only what is
// known to be secret is masked.
func (a *app) clean(text string) string {
	if !a.noRedact {
		text = a.masker().Known(text, false)
	}
	return visible.Text(text)
}

// cleanJSON is clean for the strings in a text that is JSON.
func (a *app) cleanJSON(data []byte) []byte {
	text := string(data)
	if !a.noRedact {
		text = a.masker().Known(text, true)
	}
	return []byte(visible.InJSON(text))
}

// maskedSource returns the sources of a run, without secrets.
func (a *app) maskedSource(v *view) func(trace.Function) source.Text {
	return func(f trace.Function) source.Text {
		t := v.text(f)
		t.Doc, t.Signature, t.Body = a.mask(t.Doc), a.mask(t.Signature), a.mask(t.Body)
		t.Warning = a.mask(t.Warning)
		return t
	}
}

// noteMasked says what was masked, unless it has been said.
func (a *app) noteMasked() {
	if a.redactor == nil {
		return
	}
	a.flush()
	if s := redact.Summary(a.redactor.Findings()); s != "" && s != a.masked {
		a.masked = s
		if a.canLeave {
			s += "; --no-redact leaves them"
		}
		a.note("masked %s", s)
	}
}
