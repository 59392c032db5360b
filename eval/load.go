package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// maxFile is the most bytes that an experiment's file may have.
const maxFile = 4 << 20

// Load reads an experiment from a file. variants are the prompt variants that there
// are, and what is asked with if the file names none. An error names the file, and
// the line where the file is not YAML of the right form.
func Load(name string, variants []string) (*Experiment, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("experiment %s: larger than %d MB", name, maxFile>>20)
	}
	e, err := parse(data, variants)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", name, err)
	}
	e.Path = name
	return e, nil
}

func parse(data []byte, variants []string) (*Experiment, error) {
	var e Experiment
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&e); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
			return nil, errors.New(strings.Join(wrong.Errors, "; "))
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document follows the first: write one experiment a file")
	}
	if err := e.check(variants); err != nil {
		return nil, err
	}
	for p := range e.Files {
		// A backslash is a separator to Windows, where names such as NUL are no files.
		if !fs.ValidPath(p) || p == "." || strings.ContainsFunc(p, unicode.IsControl) || strings.Contains(p, `\`) || !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, fmt.Errorf("files: %q: want a path within the run's directory, with slashes", p)
		}
	}
	return &e, nil
}

// UnmarshalYAML takes a text, or {from: PATH}.
func (f *File) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&f.Text)
	}
	wrong := func(at *yaml.Node) error {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: want a file's text, or {from: PATH}", at.Line)}}
	}
	if n.Kind != yaml.MappingNode {
		return wrong(n)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "from" {
			return wrong(n.Content[i])
		}
	}
	var from struct{ From string }
	if err := n.Decode(&from); err != nil {
		return err
	}
	if f.From = from.From; f.From == "" {
		return wrong(n)
	}
	return nil
}

// Dir is the directory that the experiment's relative paths start from.
func (e *Experiment) Dir() string { return filepath.Dir(e.Path) }

// Lay puts the experiment's files into a directory, which exists.
func (e *Experiment) Lay(dir string) error {
	var names []string
	for name := range e.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := e.read(e.Files[name])
		if err != nil {
			return fmt.Errorf("experiment %s: file %s: %w", e.Path, name, err)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (e *Experiment) read(f File) ([]byte, error) {
	if f.From == "" {
		return []byte(f.Text), nil
	}
	from := filepath.FromSlash(f.From)
	if !filepath.IsAbs(from) {
		from = filepath.Join(e.Dir(), from)
	}
	return os.ReadFile(from)
}
