// Package corpus reads a corpus of real bug fixes: reports, what the fix of each changed,
// what its failing test executed, and the files of the commit before it out of a git clone.
// Nothing of a clone is checked out, built or run.
//
// A split of the corpus is two files. SPLIT.jsonl has a case on each line, and
// SPLIT-executed.jsonl.gz the functions that its failing test executed.
package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Case is a report, the commit before its fix, and what the fix changed (gold).
type Case struct {
	ID        string `json:"id"`
	Repo      string `json:"repo"` // OWNER/NAME
	Module    string `json:"module"`
	Base      string `json:"base_commit"` // before the fix
	Fix       string `json:"fix_commit"`
	Report    string `json:"report"`
	Directory string `json:"test_package"` // of the test, within the repository
	Test      string `json:"primary_test"`
	Gold      []Gold `json:"gold"`

	// FailToPass has the tests that the fix makes pass by the directory of their package, and
	// TestFiles git's status and the name of each file of the fix that belongs to the tests.
	FailToPass map[string][]string `json:"fail_to_pass"`
	TestFiles  [][2]string         `json:"test_files"`
	Changed    []string            `json:"changed_files"`

	GoldFiles []string `json:"gold_files"`
	NamesGold bool     `json:"report_names_gold_function"`
	Words     int      `json:"report_words"`
	Size      struct {
		Functions int `json:"funcs"`
	} `json:"repo_size"`
}

// Gold is a function that a fix changed.
type Gold struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Package  string `json:"package"`
}

// TestPackage is the import path of the failing test.
func (c *Case) TestPackage() string { return path.Join(c.Module, c.Directory) }

// IsGold reports whether the fix changed a function of a file.
func (c *Case) IsGold(file, function string) bool {
	return slices.ContainsFunc(c.Gold, func(g Gold) bool { return g.File == file && g.Function == function })
}

// IsGoldFile reports whether the fix changed a file.
func (c *Case) IsGoldFile(file string) bool { return slices.Contains(c.GoldFiles, file) }

// Executed is a function that a failing test executed.
type Executed struct {
	Package, Name string // as the linker writes them, without type arguments
	File          string // within the repository
	Line          int    // of its declaration
	Tokens        int    // of its declaration
	Startup       bool   // an empty test of the package executes it as often
}

// Read reads the cases of a split.
func Read(dir, split string) ([]*Case, error) {
	name := filepath.Join(dir, split+".jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var cases []*Case
	for line := range bytes.Lines(data) {
		c := new(Case)
		if err := json.Unmarshal(line, c); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// ReadExecuted reads what the failing tests of a split executed: the functions of each case
// by its ID. It is an error if cases lacks those of one.
func ReadExecuted(dir, split string, cases []*Case) (map[string][]Executed, error) {
	name := filepath.Join(dir, split+"-executed.jsonl.gz")
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := map[string][]Executed{}
	in := bufio.NewReader(z)
	for n := 1; ; n++ {
		line, readErr := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := readExecuted(line, out); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
			}
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, readErr)
		}
	}
	for _, c := range cases {
		if out[c.ID] == nil {
			return nil, fmt.Errorf("%s has no executed functions of %s", name, c.ID)
		}
	}
	return out, nil
}

// readExecuted reads a line of the executed functions.
func readExecuted(line []byte, into map[string][]Executed) error {
	var e struct {
		ID        string
		Functions [][]any
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	for _, row := range e.Functions {
		var x Executed
		var end, count, beyond, passing int
		if err := scan(row, &x.Package, &x.Name, &x.File, &x.Line, &end, &x.Tokens, &count, &beyond, &passing); err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		if count == 0 {
			continue // another failing test executed it
		}
		x.Startup = beyond <= 0
		into[e.ID] = append(into[e.ID], x)
	}
	return nil
}

// scan assigns the columns of a row.
func scan(row []any, to ...any) error {
	if len(row) != len(to) {
		return fmt.Errorf("a function with %d columns: %d were expected", len(row), len(to))
	}
	for i, v := range row {
		switch p := to[i].(type) {
		case *string:
			s, ok := v.(string)
			if !ok {
				return fmt.Errorf("a column is %v: column %d should be text", v, i+1)
			}
			*p = s
		case *int:
			n, ok := v.(float64)
			if !ok {
				return fmt.Errorf("a column is %v: column %d should be a number", v, i+1)
			}
			*p = int(n)
		}
	}
	return nil
}
