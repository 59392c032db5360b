// Edges measures package code/calls on a module: how long it takes, whether its edges have
// the calls that recorded runs made, and which source lines its static edges stand for.
//
//	go run ./bench/edges -dir MODULE [-tests] [-misses] [TRACE.pb.gz...]
//	go run ./bench/edges -dir MODULE -sample 200 -seed 1
//
// The traces are runs of the module's programs or tests (tracerag run, without --include
// std). A call counts if caller and callee are declared in the module and nothing unrecorded is
// between them. Function literals count as the declaration around them, and a go statement as a
// call. Runs of other sources than those in MODULE measure nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tracerag/code/calls"
	"tracerag/trace"
)

func main() {
	dir := flag.String("dir", ".", "the `directory` of the module")
	tests := flag.Bool("tests", false, "with test files")
	network := flag.Bool("network", false, "let the go command download modules")
	misses := flag.Bool("misses", false, "print each executed call that has no edge")
	gaps := flag.Bool("gaps", false, "print what could not be loaded")
	sample := flag.Int("sample", 0, "print so `many` static edges, chosen by -seed, with their source lines")
	seed := flag.Uint64("seed", 1, "of the sample")
	flag.Parse()
	if err := run(os.Stdout, calls.Config{Dir: *dir, Tests: *tests, Network: *network}, *misses, *gaps, *sample, *seed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "edges:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, c calls.Config, misses, gaps bool, sample int, seed uint64, traces []string) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	c.Dir = dir
	start := time.Now()
	g, err := calls.Load(context.Background(), c)
	if err != nil {
		return err
	}
	took := time.Since(start)
	edges := g.Edges()
	count := map[calls.Kind]int{}
	for _, e := range edges {
		count[e.Kind]++
	}
	fmt.Fprintf(w, "%s: %d packages, %d static, %d interface, %d value edges, %d gaps; %.1f s, %d MiB\n", g.Module, len(g.Packages),
		count[calls.Static], count[calls.Interface], count[calls.Value], len(g.AllGaps()), took.Seconds(), peak())
	if gaps {
		for _, gap := range g.AllGaps() {
			fmt.Fprintln(w, gap)
		}
	}
	files := newFiles(dir, g.Module)
	if sample > 0 {
		return files.sample(w, edges, sample, seed)
	}
	if len(traces) == 0 {
		return nil
	}
	ran := map[pair]call{}
	for _, name := range traces {
		t, err := read(name)
		if err != nil {
			return err
		}
		files.ran(t, ran)
	}
	files.compare(w, edges, ran, misses)
	return nil
}

func read(name string) (*trace.Trace, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := trace.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// compare prints which share of the calls that ran has an edge.
func (fs *files) compare(w io.Writer, edges []calls.Edge, ran map[pair]call, misses bool) {
	kinds := map[pair]calls.Kind{}
	lines := map[pair]map[int]bool{}
	for _, e := range edges {
		p := pair{place{e.Caller.File, e.Caller.Symbol}, place{e.Callee.File, e.Callee.Symbol}}
		if k := kinds[p]; k == 0 || e.Kind < k {
			kinds[p] = e.Kind
		}
		if lines[p] == nil {
			lines[p] = map[int]bool{}
		}
		lines[p][fs.line(e.Caller, e.Site)] = true
	}
	found := map[calls.Kind]int{}
	var missed []pair
	sites, known := 0, 0
	for p, c := range ran {
		k := kinds[p]
		found[k]++
		if k == 0 {
			missed = append(missed, p)
			continue
		}
		for line := range c.lines {
			known++
			if lines[p][line] {
				sites++
			}
		}
	}
	has := len(ran) - len(missed)
	fmt.Fprintf(w, "%d pairs of own declarations ran: %d static, %d interface, %d value, %d without an edge; recall %.2f %%; %d of %d call lines agree\n",
		len(ran), found[calls.Static], found[calls.Interface], found[calls.Value], len(missed), 100*float64(has)/float64(max(len(ran), 1)), sites, known)
	if !misses {
		return
	}
	slices.SortFunc(missed, pair.compare)
	for _, p := range missed {
		c := ran[p]
		var at []int
		for line := range c.lines {
			at = append(at, line)
		}
		slices.Sort(at)
		fmt.Fprintf(w, "%s %s -> %s %s (%s)\n", p.caller.file, p.caller.symbol, p.callee.file, p.callee.symbol, c.how)
		for _, line := range at {
			fmt.Fprintf(w, "\t%d: %s\n", line, fs.text(p.caller.file, line))
		}
	}
}
