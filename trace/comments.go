package trace

import (
	"encoding/json"
	"fmt"
	"strings"
)

// meta is the content of the file's comments, one fact a comment, as
// "tracerag.KEY=JSON".
//
// Later writers may add facts without a new format version: a reader passes
// over keys that it does not know, as it does over labels and flags. For a fact
// without which the rest would be misread, a writer adds its name to
// "requires", and a reader that does not know all of these names refuses the
// file.
type meta struct {
	Format     int
	Requires   []string
	Total      total
	Name       string
	Test       Test
	Recorder   string
	Command    []string
	Dir        string
	Exit       Exit
	Program    Program
	Include    []string
	Exclude    []string
	Baseline   string
	Goroutines int64
	Losses     []Loss
	Lines      map[FuncID]Lines
	Values     []valuesOf
	Processes  []Process
}

// valuesOf is an activation as the file has it.
type valuesOf struct {
	Node     int     `json:"node"` // 1-based ordinal, as in the labels
	Args     []Value `json:"args,omitempty"`
	Results  []Value `json:"results,omitempty"`
	Returned bool    `json:"returned,omitempty"`
}

// total is what the samples add up to. Other tools that merge, subtract or
// filter profiles keep comments as they are and change the samples: the sums
// tell a trace from what such a tool has made of it.
type total struct {
	Calls int64 `json:"calls"`
	Nodes int   `json:"nodes"`
}

// fields lists the comments in the order in which they are written.
func (m *meta) fields() []metaField {
	return []metaField{
		{"format", &m.Format, false},
		{"requires", &m.Requires, m.Requires == nil},
		{"total", &m.Total, false},
		{"name", &m.Name, m.Name == ""},
		{"test", &m.Test, m.Test == Test{}},
		{"recorder", &m.Recorder, false},
		{"command", &m.Command, m.Command == nil},
		{"dir", &m.Dir, m.Dir == ""},
		{"exit", &m.Exit, false},
		{"program", &m.Program, false},
		{"include", &m.Include, m.Include == nil},
		{"exclude", &m.Exclude, m.Exclude == nil},
		{"baseline", &m.Baseline, m.Baseline == ""},
		{"goroutines", &m.Goroutines, m.Goroutines == 0},
	}
}

type metaField struct {
	key   string
	value any // pointer
	empty bool
}

// Repeated: one comment a loss, one an activation, one a process.
const (
	lossKey    = "loss"
	valuesKey  = "values"
	processKey = "process"
)

func (t *Trace) comments() ([]string, error) {
	m := meta{FormatVersion, nil, total{t.Calls(), len(t.Nodes)}, t.Name, t.Test, t.Recorder, t.Command, t.Dir, t.Exit, t.Program, t.Include, t.Exclude, t.Baseline, t.Goroutines, t.Losses, nil, nil, nil}
	m.Program.Path, m.Program.BuildID = "", "" // they are in the mapping
	var out []string
	add := func(key string, v any) error {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // values are full of "&{"
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("trace not written: %s: %w", key, err)
		}
		out = append(out, prefix+key+"="+strings.TrimSuffix(b.String(), "\n"))
		return nil
	}
	for _, f := range m.fields() {
		if f.empty {
			continue
		}
		if err := add(f.key, f.value); err != nil {
			return nil, err
		}
	}
	for _, l := range m.Losses {
		if err := add(lossKey, l); err != nil {
			return nil, err
		}
	}
	for _, p := range t.Processes {
		if err := add(processKey, p); err != nil {
			return nil, err
		}
	}
	for _, l := range t.lineComments() {
		if err := add(linesKey, l); err != nil {
			return nil, err
		}
	}
	for _, a := range t.Activations {
		if err := add(valuesKey, valuesOf{int(a.Node) + 1, a.Args, a.Results, a.Returned}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readComments returns what is in the comments of a profile.
func readComments(comments []string) (*meta, error) {
	values := map[string][]string{}
	for _, c := range comments {
		if rest, ok := strings.CutPrefix(c, prefix); ok {
			key, value, _ := strings.Cut(rest, "=")
			values[key] = append(values[key], value)
		}
	}
	if len(values) == 0 {
		return nil, ErrForeign
	}
	m := &meta{}
	for _, f := range m.fields() {
		v := values[f.key]
		if len(v) > 1 {
			return nil, fmt.Errorf("comment %s%s is repeated %d times, as after merging traces: %s (`tracerag compare A B` compares two traces)", prefix, f.key, len(v), changed)
		}
		if len(v) == 1 {
			if err := json.Unmarshal([]byte(v[0]), f.value); err != nil {
				return nil, fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, f.key, err)
			}
		}
		// The first two say whether the others can be understood at all.
		switch {
		case f.key == "format" && m.Format > FormatVersion:
			return nil, fmt.Errorf("trace format %d is newer than this tracerag reads (%d): update tracerag", m.Format, FormatVersion)
		case f.key == "format" && m.Format < 1:
			return nil, fmt.Errorf("a damaged trace: comment %sformat is missing or not positive", prefix)
		case f.key == "requires" && len(m.Requires) > 0:
			return nil, fmt.Errorf("this trace needs features that this tracerag does not have (%s): update tracerag", strings.Join(m.Requires, ", "))
		case f.key == "total" && len(v) == 0:
			return nil, fmt.Errorf("a damaged trace: comment %stotal is missing", prefix)
		}
	}
	for _, v := range values[lossKey] {
		var l Loss
		if err := json.Unmarshal([]byte(v), &l); err != nil {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, lossKey, err)
		}
		m.Losses = append(m.Losses, l)
	}
	for _, v := range values[processKey] {
		var p Process
		if err := json.Unmarshal([]byte(v), &p); err != nil {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, processKey, err)
		}
		m.Processes = append(m.Processes, p)
	}
	var err error
	if m.Lines, err = readLines(values[linesKey]); err != nil {
		return nil, err
	}
	for _, v := range values[valuesKey] {
		var a valuesOf
		if err := json.Unmarshal([]byte(v), &a); err != nil {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, valuesKey, err)
		}
		m.Values = append(m.Values, a)
	}
	return m, nil
}
