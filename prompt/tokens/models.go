package tokens

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Model is what is known of a family of models.
type Model struct {
	Name     string  // the beginning of their names, lower case
	Window   int     // tokens that prompt and answer may have together
	Encoding string  // "o200k_base" or "cl100k_base"
	Factor   float64 // 1, or what an estimate multiplies by
}

// unknown is assumed of a model that is not listed: most current models take
// at least this much.
var unknown = Model{Window: 128_000, Encoding: "o200k_base", Factor: 1.2}

//go:embed models.txt
var modelsText string

var builtin = sync.OnceValue(func() Models {
	m, err := ReadModels(strings.NewReader(modelsText))
	if err != nil {
		panic("tokens: models.txt: " + err.Error()) // a test reads it
	}
	return m
})

// Lookup finds a model in the built-in table. When it is not listed, known is
// false and the result is what is assumed: a window of 128,000 tokens and an
// estimated count.
func Lookup(model string) (m Model, known bool) { return builtin().Lookup(model) }

// Models is a table of models, such as a user's own.
type Models []Model

// LoadModels reads a table from a file of the form of models.txt: a line for
// each model, with the beginning of its name and its window, and optionally
// vocabulary and factor; "#" begins a comment.
func LoadModels(path string) (Models, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table of models: %w", err)
	}
	defer f.Close()
	m, err := ReadModels(f)
	if err != nil {
		return nil, fmt.Errorf("table of models %s: %w", path, err)
	}
	return m, nil
}

// ReadModels reads what LoadModels does from r.
func ReadModels(r io.Reader) (Models, error) {
	var ms Models
	sc := bufio.NewScanner(r)
	for line := 1; sc.Scan(); line++ {
		text, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		m, err := parseModel(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		ms = append(ms, m)
	}
	return ms, sc.Err()
}

func parseModel(fields []string) (Model, error) {
	m := Model{Name: strings.ToLower(fields[0]), Encoding: unknown.Encoding, Factor: unknown.Factor}
	if len(fields) < 2 || len(fields) > 4 {
		return m, fmt.Errorf("%d fields, want a name, a window, and optionally a vocabulary and a factor", len(fields))
	}
	n, err := strconv.Atoi(strings.ReplaceAll(fields[1], "_", ""))
	if err != nil || n <= 0 {
		return m, fmt.Errorf("window %q of %s: want a number of tokens", fields[1], m.Name)
	}
	m.Window = n
	if len(fields) > 2 {
		if m.Encoding = fields[2]; vocabularies[m.Encoding] == nil {
			return m, fmt.Errorf("vocabulary %q of %s: want o200k_base or cl100k_base", fields[2], m.Name)
		}
		m.Factor = 1
	}
	if len(fields) > 3 {
		if m.Factor, err = strconv.ParseFloat(fields[3], 64); err != nil || !(m.Factor > 0 && m.Factor <= 10) {
			return m, fmt.Errorf("factor %q of %s: want a number up to 10", fields[3], m.Name)
		}
	}
	return m, nil
}

// Lookup finds a model by its name as an endpoint takes it. The longest listed
// name that the model's begins with counts; the part before a slash, a
// fine-tuning prefix and a cloud's vendor prefix do not.
func (ms Models) Lookup(model string) (m Model, known bool) {
	best := -1
	for _, name := range spellings(model) {
		for i, c := range ms {
			if strings.HasPrefix(name, c.Name) && (best < 0 || len(c.Name) > len(ms[best].Name)) {
				best = i
			}
		}
	}
	if best < 0 {
		return unknown, false
	}
	return ms[best], true
}

// spellings are the names under which a model may be listed:
// "us.anthropic.claude-opus-5-v1:0" is also "anthropic.claude-opus-5-v1:0"
// and "claude-opus-5-v1:0".
func spellings(model string) []string {
	name := strings.ToLower(strings.TrimSpace(model))
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.TrimPrefix(name, "ft:")
	all := []string{name}
	for {
		head, rest, ok := strings.Cut(name, ".")
		// A vendor's name is letters only: "gpt-4.1" is no vendor and model.
		if !ok || strings.Trim(head, "abcdefghijklmnopqrstuvwxyz") != "" {
			return all
		}
		name = rest
		all = append(all, name)
	}
}

func formatFactor(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
