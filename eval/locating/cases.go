package locating

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Case is a report, and what had to be found for it.
type Case struct {
	ID        string     `json:"id" yaml:"id"`
	Report    string     `json:"report" yaml:"report"`
	Repo      string     `json:"repo,omitempty" yaml:"repo"`     // OWNER/NAME of a clone, or a name in the store
	Commit    string     `json:"commit,omitempty" yaml:"commit"` // "": the working tree
	Files     []string   `json:"files,omitempty" yaml:"files"`
	Functions []Function `json:"functions,omitempty" yaml:"functions"`
}

// Function names a function as locate prints it: "F", "T.M" or "(*T).M". In a file of cases it is
// that name, or an object with the file and the function.
type Function struct {
	File string `json:"file,omitempty"` // "": one of the case's files; any if it has none
	Name string `json:"function"`
}

// corpusCase is a line of a corpus of bug fixes: see package bench/corpus.
type corpusCase struct {
	ID        string     `json:"id"`
	Repo      string     `json:"repo"`
	Base      string     `json:"base_commit"`
	Report    string     `json:"report"`
	Gold      []Function `json:"gold"`
	GoldFiles []string   `json:"gold_files"`
}

// mostBytes is how large a file of cases may be.
const mostBytes = 256 << 20

// FormError says what is wrong with a file of cases, and in which line.
type FormError struct {
	File string
	Line int // 0: unknown
	Err  error
}

func (e *FormError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *FormError) Unwrap() error { return e.Err }

// Read reads cases: a YAML list if the file's name ends in .yaml or .yml, and else JSON, a case on each
// line.
func Read(file string) ([]*Case, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	if len(data) > mostBytes {
		return nil, &FormError{file, 0, fmt.Errorf("it is larger than %d MB", mostBytes>>20)}
	}
	read := readLines
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" {
		read = readYAML
	}
	cases, lines, err := read(file, data)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, &FormError{file, 0, errors.New("it has no case")}
	}
	at := map[string]int{}
	for i, c := range cases {
		err := c.check()
		if first := at[c.ID]; err == nil && first > 0 {
			err = fmt.Errorf("the case in line %d has the same id, %q", first, c.ID)
		}
		if err != nil {
			return nil, &FormError{file, lines[i], err}
		}
		at[c.ID] = lines[i]
	}
	return cases, nil
}

func readYAML(file string, data []byte) (cases []*Case, lines []int, err error) {
	wrong := func(line int, err error) error {
		if of, ok := errors.AsType[*yaml.TypeError](err); ok {
			err = errors.New(strings.Join(of.Errors, "; ")) // with their lines
			line = 0
		}
		return &FormError{file, line, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, nil, wrong(0, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil, nil
	}
	list := doc.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, nil, wrong(list.Line, errors.New("want a list of cases, each with - id: NAME and more keys"))
	}
	for _, n := range list.Content {
		if err := onlyKeys(n, "id", "report", "repo", "commit", "files", "functions"); err != nil {
			return nil, nil, wrong(n.Line, err)
		}
		c := new(Case)
		if err := n.Decode(c); err != nil {
			return nil, nil, wrong(n.Line, err)
		}
		cases, lines = append(cases, c), append(lines, n.Line)
	}
	return cases, lines, nil
}

// onlyKeys refuses a misspelled key, which would be ignored. (Node.Decode has no KnownFields.)
func onlyKeys(n *yaml.Node, known ...string) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("want a case: id, report, files or functions")
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: field %s not found: want %s", key.Line, key.Value, strings.Join(known, ", "))}}
		}
	}
	return nil
}

func readLines(file string, data []byte) (cases []*Case, lines []int, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		c, err := readLine(line)
		if err != nil {
			return nil, nil, &FormError{file, n, err}
		}
		cases, lines = append(cases, c), append(lines, n)
	}
	return cases, lines, nil
}

// readLine reads a case in one of both forms. Of a corpus only what is needed is read.
func readLine(line []byte) (*Case, error) {
	var of struct { // keys of a corpus alone
		Base      json.RawMessage `json:"base_commit"`
		Gold      json.RawMessage `json:"gold"`
		GoldFiles json.RawMessage `json:"gold_files"`
	}
	if err := json.Unmarshal(line, &of); err != nil {
		return nil, err
	}
	if of.Base != nil || of.Gold != nil || of.GoldFiles != nil {
		var c corpusCase
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		return &Case{ID: c.ID, Report: c.Report, Repo: c.Repo, Commit: c.Base, Files: c.GoldFiles, Functions: c.Gold}, nil
	}
	c := new(Case)
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return c, dec.Decode(c)
}

// UnmarshalJSON takes a name, or an object.
func (f *Function) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &f.Name)
	}
	type plain Function
	return json.Unmarshal(data, (*plain)(f))
}

// UnmarshalYAML takes a name, or an object.
func (f *Function) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&f.Name)
	}
	if err := onlyKeys(n, "file", "function"); err != nil {
		return err
	}
	var of struct{ File, Function string }
	err := n.Decode(&of)
	f.File, f.Name = of.File, of.Function
	return err
}

var hash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// check refuses what nothing could be measured with, and completes the files.
func (c *Case) check() error {
	switch {
	case strings.TrimSpace(c.ID) == "":
		return errors.New("the case has no id")
	case strings.TrimSpace(c.Report) == "":
		return fmt.Errorf("%s: the report is empty", c.ID)
	case c.Commit != "" && c.Repo == "":
		return fmt.Errorf("%s: it has a commit and no repo: say of which repository, OWNER/NAME", c.ID)
	case c.Commit != "" && !hash.MatchString(c.Commit):
		return fmt.Errorf("%s: commit %q: want a hash, of 7 digits or more: a branch moves", c.ID, c.Commit)
	case len(c.Files) == 0 && len(c.Functions) == 0:
		return fmt.Errorf("%s: it has neither files nor functions: say what is to be found", c.ID)
	}
	for i, f := range c.Functions {
		if f.Name == "" {
			return fmt.Errorf("%s: function %d has no name", c.ID, i+1)
		}
		if f.File != "" && !slices.Contains(c.Files, f.File) {
			c.Files = append(c.Files, f.File)
		}
	}
	for _, file := range c.Files {
		if file == "" || !filepath.IsLocal(file) || path.Clean(file) != file || strings.Contains(file, `\`) {
			return fmt.Errorf("%s: file %q: want a path below the repository's root, with slashes", c.ID, file)
		}
	}
	return nil
}

// wants returns the place of a function among those of the case; -1 if it is none.
func (c *Case) wants(file, name string) int {
	return slices.IndexFunc(c.Functions, func(f Function) bool {
		return f.Name == name && (f.File == file || f.File == "" && (len(c.Files) == 0 || slices.Contains(c.Files, file)))
	})
}
