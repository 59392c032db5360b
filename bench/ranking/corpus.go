package main

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

	"tracerag/rank"
)

// bug is a case of the corpus: a report, a failing test, the functions that the
// test executed, and those that the fix changed (gold).
type bug struct {
	ID        string `json:"id"`
	Repo      string `json:"repo"`
	Module    string `json:"module"`
	Base      string `json:"base_commit"` // before the fix
	Report    string `json:"report"`
	Directory string `json:"test_package"` // of the test, within the repository
	Test      string `json:"primary_test"`
	Gold      []gold `json:"gold"`
	NamesGold bool   `json:"report_names_gold_function"`
	Words     int    `json:"report_words"`

	Executed []executed `json:"-"` // by Test, in the corpus' order
	// Others are the functions that the repository declares beside them,
	// tests and testdata left out.
	Others []rank.Function `json:"-"`
	// Passing is the number of runs that Function.Passing counts in: see rank.Corpus.
	Passing int `json:"-"`
}

type gold struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Package  string `json:"package"`
}

// executed is a function that a test executed.
type executed struct {
	rank.Function
	File   string
	Line   int
	Tokens int
	Gold   bool
}

// question is what the ranking is asked: the report and the test's name.
func (b *bug) question() rank.Question {
	return rank.Question{Text: b.Report, Test: b.Test, Package: path.Join(b.Module, b.Directory)}
}

func (b *bug) functions() []rank.Function {
	fs := make([]rank.Function, len(b.Executed))
	for i := range fs {
		fs[i] = b.Executed[i].Function
	}
	return fs
}

// readCorpus reads the cases of a split: SPLIT.jsonl and SPLIT-executed.jsonl.gz.
func readCorpus(dir, split string) ([]*bug, error) {
	name := filepath.Join(dir, split+".jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var bugs []*bug
	byID := map[string]*bug{}
	for line := range bytes.Lines(data) {
		b := new(bug)
		if err := json.Unmarshal(line, b); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(bugs)+1, err)
		}
		bugs = append(bugs, b)
		byID[b.ID] = b
	}
	name = filepath.Join(dir, split+"-executed.jsonl.gz")
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in := bufio.NewReader(z)
	for n := 1; ; n++ {
		line, readErr := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := readExecuted(line, byID); err != nil {
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
	for _, b := range bugs {
		if b.Executed == nil {
			return nil, fmt.Errorf("%s has no executed functions of %s", name, b.ID)
		}
	}
	return bugs, nil
}

// readExecuted reads a line of the executed functions into its case.
func readExecuted(line []byte, bugs map[string]*bug) error {
	var e struct {
		ID        string
		Functions [][]any
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	b := bugs[e.ID]
	if b == nil {
		return nil
	}
	gold := map[[2]string]bool{}
	for _, g := range b.Gold {
		gold[[2]string{g.Package, g.Function}] = true
	}
	for _, row := range e.Functions {
		var x executed
		var end, count, beyond, passing int
		if err := scan(row, &x.Package, &x.Name, &x.File, &x.Line, &end, &x.Tokens, &count, &beyond, &passing); err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		if count == 0 {
			continue // another failing test executed it
		}
		x.Startup = beyond <= 0
		x.Gold = gold[[2]string{x.Package, x.Name}]
		b.Executed = append(b.Executed, x)
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
