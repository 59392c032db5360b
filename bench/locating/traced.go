package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/rank"
)

// executed is a function that a failing test executed, as the corpus has it.
type executed struct {
	pkg, name, file string
	line            int
	startup         bool
}

// readExecuted reads SPLIT-executed.jsonl.gz: what the primary test of each case ran.
func readExecuted(dir, split string) (map[string][]executed, error) {
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
	out := map[string][]executed{}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var e struct {
			ID        string
			Functions [][]any
		}
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, row := range e.Functions {
			// package, function, file, start, end, tokens, count by the primary test,
			// that less an empty run's, passing tests that executed it
			if len(row) != 9 {
				return nil, fmt.Errorf("%s, %s: a function with %d columns: 9 were expected", name, e.ID, len(row))
			}
			pkg, _ := row[0].(string)
			fn, _ := row[1].(string)
			file, _ := row[2].(string)
			line, _ := row[3].(float64)
			count, _ := row[6].(float64)
			beyond, _ := row[7].(float64)
			if count > 0 {
				out[e.ID] = append(out[e.ID], executed{pkg, fn, file, int(line), beyond <= 0})
			}
		}
	}
	return out, in.Err()
}

// traceAll locates with what the failing test executed, and ranks that alone as package rank
// does.
func traceAll(all []*loaded, dir, split string) (located, ranked []result, err error) {
	ran, err := readExecuted(dir, split)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		type place struct {
			file string
			line int
		}
		texts := map[place][2]string{}
		var others []rank.Function
		in := map[place]bool{}
		for _, x := range ran[c.ID] {
			in[place{x.file, x.line}] = true
		}
		c.repo.Functions(func(d *knowledge.Decl, doc, text string) {
			p := place{d.Path, d.Line}
			texts[p] = [2]string{doc, text}
			if !in[p] {
				others = append(others, rank.Function{Package: d.Package, Name: d.Name, Doc: doc, Text: text})
			}
		})
		var fs []rank.Function
		for _, x := range ran[c.ID] {
			t := texts[place{x.file, x.line}]
			fs = append(fs, rank.Function{Package: x.pkg, Name: x.name, Doc: t[0], Text: t[1], Startup: x.startup})
		}
		q := locate.Question{Text: c.Report, Test: c.Test, Package: c.testPackage()}
		var order []found
		for _, r := range rank.Rank(rank.Question{Text: c.Report, Test: c.Test, Package: c.testPackage()},
			rank.Corpus{Functions: fs, Background: slices.Values(others)}, rank.Default) {
			x := ran[c.ID][r.Function]
			order = append(order, found{x.file, x.name})
			q.Ran = append(q.Ran, locate.RanFunction{Package: x.pkg, Name: x.name, File: x.file, Score: r.Score, Reasons: r.Reasons})
		}
		var files []string
		for _, f := range order {
			if !slices.Contains(files, f.file) {
				files = append(files, f.file)
			}
		}
		ranked = append(ranked, judge(c, order, files))
		a, err := c.locate(c.store, q, locate.Default)
		if err != nil {
			return nil, nil, err
		}
		located = append(located, judgeAnswer(c, a))
	}
	return located, ranked, nil
}
