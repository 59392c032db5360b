// Affected measures how many of the failures that a whole suite finds are found by the tests that
// package repair/affected chooses, and in how much of its time.
//
//	affected [-n 60] [-seed 1] [-share 0.1] [-out results] DIR...
//
// Each DIR is a module whose suite is run: a checkout or an unpacked module, which is only read. A mutation is a
// small change of a function that some test runs. It is given to the go command by -overlay: no
// file changes. For each mutation the whole suite runs once and the chosen tests run once, each with a build
// cache of its own that knows the unchanged module, so both build what the mutation makes them build. But whoever
// repairs has built one test program already, that of the wanted test: the first tests use it. What building it
// takes is measured apart.
//
// Results are kept, a line of JSON for each mutation: a measurement that was broken off goes on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"tracerag/repair/affected"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == "job" {
		os.Exit(affected.Inner(context.Background(), nil, os.Args[1:]))
	}
	n := flag.Int("n", 60, "mutations of each module")
	seed := flag.Uint64("seed", 1, "of the random choice")
	share := flag.Float64("share", affected.DefaultShare, "of the suite's time for the first tests")
	skip := flag.String("skip", "", "tests to leave out everywhere, as of go test -skip: those that fail on a busy machine")
	out := flag.String("out", "", "directory of results and build caches")
	table := flag.Bool("table", false, "only print what is known")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: affected -out RESULTS [flags] DIR...")
		os.Exit(2)
	}
	var all []summary
	for _, dir := range flag.Args() {
		m := &measurement{dir: dir, out: *out, n: *n, seed: *seed, share: *share, leave: *skip}
		if !*table {
			if err := m.run(ctx); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", dir, err)
				if ctx.Err() != nil {
					break
				}
				continue
			}
		}
		results, err := read(m.results())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		all = append(all, sum(filepath.Base(dir), results[:min(len(results), *n)]))
	}
	write(os.Stdout, all)
}

// result is what became of a mutation.
type result struct {
	Attempt  uint64   `json:"attempt"`
	Function string   `json:"function"`
	File     string   `json:"file"`
	What     string   `json:"what"`
	Ran      int      `json:"ran"`     // tests that ran the function
	Chosen   int      `json:"chosen"`  // of these, the first ones
	Failing  []string `json:"failing"` // tests of the whole suite that fail
	Among    int      `json:"among"`   // failing tests that are among the chosen
	InRan    int      `json:"in_ran"`  // failing tests that are among all that ran it
	Found    bool     `json:"found"`   // a chosen test failed
	Flaky    bool     `json:"flaky,omitempty"`
	Suite    spent    `json:"suite"`
	First    spent    `json:"first"`
	Wanted   spent    `json:"wanted"` // building the wanted test's program, which is not part of First
}

// spent is what a go command took, in seconds.
type spent struct {
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
	Runs float64 `json:"runs"` // of this the test programs, without building: the sum of what each took
}

func (s *spent) add(o spent) {
	s.Wall, s.CPU, s.Runs = s.Wall+o.Wall, s.CPU+o.CPU, s.Runs+o.Runs
}

func read(name string) (out []result, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var r result
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, r)
	}
	return out, s.Err()
}

// summary is a row of the table.
type summary struct {
	name                       string
	mutations, failed, found   int
	failing, among, ran, flaky int
	suite, first, wanted       spent
}

func sum(name string, results []result) (s summary) {
	s.name = name
	for _, r := range results {
		s.mutations++
		s.suite.add(r.Suite)
		s.first.add(r.First)
		s.wanted.add(r.Wanted)
		if r.Flaky {
			s.flaky++
			continue
		}
		if len(r.Failing) > 0 {
			s.failed++
			s.failing, s.among, s.ran = s.failing+len(r.Failing), s.among+r.Among, s.ran+r.InRan
			if r.Found {
				s.found++
			}
		}
	}
	return s
}

func write(w io.Writer, all []summary) {
	var total summary
	total.name = "all"
	fmt.Fprintln(w, "| module | mutations | the suite fails | chosen fail | failing tests | that ran it | chosen | suite s | wanted built s | chosen s | share | of the suite without that build | CPU share | share without building |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	row := func(s summary) {
		fmt.Fprintf(w, "| %s | %d | %d | %d (%.1f %%) | %d | %.1f %% | %.1f %% | %.0f | %.0f | %.0f | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", s.name, s.mutations, s.failed, s.found,
			percent(s.found, s.failed), s.failing, percent(s.ran, s.failing), percent(s.among, s.failing), s.suite.Wall, s.wanted.Wall, s.first.Wall,
			100*s.first.Wall/s.suite.Wall, 100*s.first.Wall/(s.suite.Wall-s.wanted.Wall), 100*s.first.CPU/s.suite.CPU, 100*s.first.Runs/s.suite.Runs)
	}
	for _, s := range all {
		row(s)
		total.mutations, total.failed, total.found = total.mutations+s.mutations, total.failed+s.failed, total.found+s.found
		total.failing, total.among, total.ran = total.failing+s.failing, total.among+s.among, total.ran+s.ran
		total.suite.add(s.suite)
		total.first.add(s.first)
		total.wanted.add(s.wanted)
	}
	if len(all) > 1 {
		row(total)
	}
}

func percent(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
