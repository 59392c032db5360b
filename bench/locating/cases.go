package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// bug is a case of the corpus: a report, the commit before the fix, and what the fix
// changed (gold).
type bug struct {
	ID        string   `json:"id"`
	Repo      string   `json:"repo"`
	Module    string   `json:"module"`
	Base      string   `json:"base_commit"`
	Report    string   `json:"report"`
	Directory string   `json:"test_package"` // of the test, within the repository
	Test      string   `json:"primary_test"`
	Gold      []gold   `json:"gold"`
	GoldFiles []string `json:"gold_files"`
	NamesGold bool     `json:"report_names_gold_function"`
	Size      struct {
		Functions int `json:"funcs"`
	} `json:"repo_size"`
}

type gold struct {
	File     string `json:"file"`
	Function string `json:"function"`
}

// isGold reports whether the fix changed a function of a file.
func (b *bug) isGold(file, function string) bool {
	return slices.Contains(b.Gold, gold{file, function})
}

func (b *bug) isGoldFile(file string) bool { return slices.Contains(b.GoldFiles, file) }

// testPackage is the import path of the failing test.
func (b *bug) testPackage() string { return path.Join(b.Module, b.Directory) }

// readCases reads the cases of a split: SPLIT.jsonl.
func readCases(dir, split string) ([]*bug, error) {
	name := filepath.Join(dir, split+".jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var bugs []*bug
	for line := range bytes.Lines(data) {
		b := new(bug)
		if err := json.Unmarshal(line, b); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(bugs)+1, err)
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}
