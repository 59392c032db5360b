package trace

import (
	"encoding/json"
	"fmt"
	"strings"
)

// meta is what stands in the file's comments, one fact a comment, as
// "tracerag.KEY=JSON". Keys that a reader does not know are an error within its
// own version and do not occur in older ones.
type meta struct {
	Format     int
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
}

// fields lists the comments in the order in which they are written.
func (m *meta) fields() []metaField {
	return []metaField{
		{"format", &m.Format, false},
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

const lossKey = "loss" // repeated: one comment a loss

func (t *Trace) comments() ([]string, error) {
	m := meta{FormatVersion, t.Recorder, t.Command, t.Dir, t.Exit, t.Program, t.Include, t.Exclude, t.Baseline, t.Goroutines, t.Losses}
	m.Program.Path, m.Program.BuildID = "", "" // they stand in the mapping
	var out []string
	add := func(key string, v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("trace not written: %s: %w", key, err)
		}
		out = append(out, prefix+key+"="+string(b))
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
	return out, nil
}

func (t *Trace) setComments(comments []string) error {
	var m meta
	fields := map[string]any{}
	for _, f := range m.fields() {
		fields[f.key] = f.value
	}
	ours := false
	for _, c := range comments {
		rest, ok := strings.CutPrefix(c, prefix)
		if !ok {
			continue
		}
		ours = true
		key, value, _ := strings.Cut(rest, "=")
		var err error
		switch dst := fields[key]; {
		case key == lossKey:
			var l Loss
			if err = json.Unmarshal([]byte(value), &l); err == nil {
				m.Losses = append(m.Losses, l)
			}
		case dst != nil:
			err = json.Unmarshal([]byte(value), dst)
		case m.Format == FormatVersion:
			err = fmt.Errorf("unknown key")
		}
		if err != nil {
			return fmt.Errorf("a damaged trace: comment %s%s: %w", prefix, key, err)
		}
		if m.Format > FormatVersion {
			return fmt.Errorf("trace format %d is newer than this tracerag reads (%d): update tracerag", m.Format, FormatVersion)
		}
	}
	if !ours {
		return ErrForeign
	}
	if m.Format < 1 {
		return fmt.Errorf("a damaged trace: comment %sformat is missing or not positive", prefix)
	}
	t.Recorder, t.Command, t.Dir, t.Exit, t.Program = m.Recorder, m.Command, m.Dir, m.Exit, m.Program
	t.Include, t.Exclude, t.Baseline, t.Goroutines, t.Losses = m.Include, m.Exclude, m.Baseline, m.Goroutines, m.Losses
	return nil
}
