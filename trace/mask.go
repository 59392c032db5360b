package trace

import (
	"slices"
	"strings"
)

// Masker masks the secrets in what a trace has of the program's data. Package
// redact has one.
type Masker interface {
	Text(text string) string
	Args(argv []string) []string
	Value(name, text string) string // in the notation of [Value]
}

// Masked returns a copy of t without the secrets that m finds: in the command
// line, the build settings (-ldflags may set one), the name that the user gave, the
// details of losses, and observed values. Names, files and lines of functions are
// what the program is made of, and stay, as directories do. What is not masked is
// shared with t.
func (t *Trace) Masked(m Masker) *Trace {
	out := *t
	out.Name = m.Text(t.Name)
	out.Command = m.Args(t.Command)
	out.Program.Settings = slices.Clone(t.Program.Settings)
	for i, s := range out.Program.Settings {
		arg := m.Args([]string{s.Key + "=" + s.Value})[0]
		out.Program.Settings[i].Value = strings.TrimPrefix(arg, s.Key+"=")
	}
	out.Losses = slices.Clone(t.Losses)
	for i := range out.Losses {
		out.Losses[i].Detail = m.Text(out.Losses[i].Detail)
	}
	out.Activations = slices.Clone(t.Activations)
	for i := range out.Activations {
		a := &out.Activations[i]
		a.Args, a.Results = slices.Clone(a.Args), slices.Clone(a.Results)
	}
	for v := range out.EachValue() {
		v.Text = m.Value(v.Name, v.Text)
	}
	return &out
}
