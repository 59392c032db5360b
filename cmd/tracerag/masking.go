package main

import (
	"io"
	"os"

	"github.com/spf13/pflag"

	"tracerag/llm"
	"tracerag/output"
	"tracerag/redact"
	"tracerag/session"
)

// What tracerag prints is read by agents and pasted into issues as often as it is read at
// the terminal where it appears. So every command masks secrets. It opens traces by a
// session with a.masker(), which masks them, and prints to a.stdout, a.stderr, a.printed
// or a.writeTo, which mask once more what is known by then.

func (a *app) redactFlag(f *pflag.FlagSet) {
	a.canLeave = true
	f.BoolVar(&a.noRedact, "no-redact", false, "leave secrets as they are, instead of putting [REDACTED:KIND:N] in their place")
}

// newRedactor returns what hides the secrets of one output. It knows those of the
// environment.
func (a *app) newRedactor() *redact.Redactor {
	known := redact.Environment(os.Environ())
	// A key that cannot be read is no secret that could be shown.
	if c, err := llm.FromEnv(a.getenv, llm.Config{}); err == nil && c.APIKey != "" {
		known = append([]redact.Secret{{Kind: "api-key", Value: c.APIKey}}, known...)
	}
	return redact.New(known...)
}

// masker is what hides the secrets of this command's output, nil with --no-redact.
func (a *app) masker() *session.Masker {
	if a.noRedact {
		return nil
	}
	return a.secrets
}

// setOutputs leads the app's messages and results through outputs.
func (a *app) setOutputs(stdout, stderr io.Writer) {
	a.programOut, a.programErr = stdout, stderr
	a.secrets = session.NewMasker(a.newRedactor)
	a.secrets.KeepIn(session.WordCache())
	a.stdout, a.stderr = output.New(stdout, output.Text, a.knownSecrets), output.New(stderr, output.Text, a.knownSecrets)
}

// knownSecrets is the masker of what goes out now, nil for none.
func (a *app) knownSecrets() *redact.Redactor {
	// Not before something is printed: it takes 20 ms to understand the rules.
	if a.said != nil && !a.noRedact {
		a.said.Do(func() { a.masker().LearnArgs(a.args) })
	}
	return a.masker().Redactor()
}

// flush writes what outputs held back.
func (a *app) flush() {
	for _, w := range []io.Writer{a.stdout, a.stderr} {
		if o, ok := w.(*output.Writer); ok {
			_ = o.Flush() // as for any message: the error could not be shown
		}
	}
}

// printed returns standard output for what is not plain text, and what ends it.
func (a *app) printed(kind output.Kind) (w io.Writer, end func() error) {
	o := output.New(a.rawStdout(), kind, a.knownSecrets)
	return o, o.Flush
}

// rawStdout is what standard output leads to, a pager perhaps.
func (a *app) rawStdout() io.Writer {
	if o, ok := a.stdout.(*output.Writer); ok {
		return o.To()
	}
	return a.stdout
}

// noteMasked says what was masked, unless it has been said.
func (a *app) noteMasked() {
	a.flush()
	if s := redact.Summary(a.secrets.Findings()); s != "" && s != a.masked {
		a.masked = s
		if a.canLeave {
			s += "; --no-redact leaves them"
		}
		a.note("masked %s", s)
	}
}
