package trace

import (
	"slices"
	"strconv"
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
// details of losses, processes that were started, and observed values. Names, files and lines of functions are
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
	out.Processes = slices.Clone(t.Processes)
	for i := range out.Processes {
		p := &out.Processes[i]
		p.Command, p.Why = m.Args(p.Command), m.Text(p.Why)
	}
	out.Activations = slices.Clone(t.Activations)
	for i := range out.Activations {
		a := &out.Activations[i]
		a.Args, a.Results = slices.Clone(a.Args), slices.Clone(a.Results)
	}
	for i := range out.Activations {
		maskValues(m, out.Activations[i].Args)
		maskValues(m, out.Activations[i].Results)
	}
	return &out
}

// maskValues masks values by their names. What follows a key goes by the key, as in
// Setenv(key, value string); and a value of a type of its own by that, too.
func maskValues(m Masker, list []Value) {
	before, said := "", "" // the value before: its name, and its text
	for i := range list {
		v := &list[i]
		name := v.Name
		if key, err := strconv.Unquote(said); err == nil && isPair(before, name) {
			name = key
		}
		before, said = v.Name, v.Text
		masked := m.Value(name, v.Text)
		if _, typ, ok := strings.Cut(v.Type, "."); ok && masked == v.Text {
			masked = m.Value(typ, v.Text)
		}
		v.Text = masked
	}
}

func isPair(key, value string) bool {
	return slices.Contains([]string{"key", "name", "k", "header", "field"}, key) && slices.Contains([]string{"value", "val", "v"}, value)
}
