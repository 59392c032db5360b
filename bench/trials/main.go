// Trials measures package repair/trial on a corpus of real bug fixes (see package
// bench/corpus): is the fix accepted, and is none of the changes that only pretend to be one?
//
//	go run ./bench/trials -corpus DIR -clones DIR -work DIR
//
// Each case is the commit before a fix with the tests of the fix. Their dependencies are
// downloaded. The suite is the packages that the fix changes, those of its tests, and some of those that import them
// (-importers): the whole suites of the larger repositories take hours. What was measured
// is kept in DIR/fixes.jsonl and DIR/cheats.jsonl, and the next run goes on.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tracerag/bench/corpus"
	"tracerag/phrase"
	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

type settings struct {
	corpus, clones, split, work, only string
	importers, runs, bare             int
	cheats                            bool

	cache string // for the go command; "": below work
	limit time.Duration
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "inner" {
		os.Exit(sandbox.Inner())
	}
	var set settings
	flag.StringVar(&set.corpus, "corpus", "", "the `directory` of the corpus")
	flag.StringVar(&set.clones, "clones", "", "the `directory` of the clones, each as OWNER/NAME or NAME")
	flag.StringVar(&set.split, "split", "dev", "the `name` of the cases' files")
	flag.StringVar(&set.work, "work", filepath.Join(os.TempDir(), "tracerag-trials"), "the `directory` for trees, the build cache and results")
	flag.StringVar(&set.only, "only", "", "cases whose id contains one of these `words`, separated by commas")
	flag.IntVar(&set.importers, "importers", 3, "how many of the importing packages are in the suite")
	flag.IntVar(&set.runs, "runs", 3, "how often the tests run before any change")
	flag.IntVar(&set.bare, "bare", 3, "of the changes that the guard refuses, try each N-th without it; 0: none")
	flag.BoolVar(&set.cheats, "cheats", true, "after the fixes, try changes that only pretend to be one")
	flag.DurationVar(&set.limit, "limit", 10*time.Minute, "the time that a command may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, set); err != nil {
		fmt.Fprintln(os.Stderr, "trials:", err)
		os.Exit(1)
	}
}

// outcome is what was measured of a case.
type outcome struct {
	ID     string
	Repo   string
	Open   string        `json:",omitempty"` // why it can't be run here
	Guard  string        `json:",omitempty"` // what the guard says of the fix
	Gold   trial.Verdict // of the fix, without the guard
	Flaky  int
	Before time.Duration // baseline
	Took   time.Duration // verdict on the fix
	Cheats []attempt
}

// attempt is a change that only pretends to be a fix.
type attempt struct {
	Kind    string
	Guard   string        `json:",omitempty"` // refused there
	Tried   bool          // built and tested
	Verdict trial.Verdict // then
}

// accepted reports whether it passed for a fix, with the guard and without.
func (a attempt) accepted() (guarded, bare bool) {
	return a.Guard == "" && a.Verdict.Accepted, a.Tried && a.Verdict.Accepted
}

func run(ctx context.Context, w, log io.Writer, set settings) error {
	if set.corpus == "" || set.clones == "" {
		return errors.New("-corpus DIR and -clones DIR are needed")
	}
	cases, err := corpus.Read(set.corpus, set.split)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(set.work, 0o700); err != nil {
		return err
	}
	fixes, err := read(filepath.Join(set.work, "fixes.jsonl"))
	if err != nil {
		return err
	}
	cheats, err := read(filepath.Join(set.work, "cheats.jsonl"))
	if err != nil {
		return err
	}
	each := func(name string, into map[string]*outcome, skip func(id string) bool) error {
		for i, c := range cases {
			if ctx.Err() != nil || into[c.ID] != nil || skip(c.ID) || set.only != "" && !slices.ContainsFunc(strings.Split(set.only, ","), func(s string) bool { return strings.Contains(c.ID, s) }) {
				continue
			}
			fmt.Fprintf(log, "%d of %d: %s\n", i+1, len(cases), c.ID)
			clone, err := corpus.FindClone(set.clones, c.Repo)
			if err != nil {
				return err
			}
			o, err := measure(ctx, log, set, c, clone, name == "cheats")
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
			into[c.ID] = o
			if err := keep(filepath.Join(set.work, name+".jsonl"), o); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each("fixes", fixes, func(string) bool { return false }); err != nil {
		return err
	}
	if set.cheats {
		// What is refused anyway proves nothing.
		if err := each("cheats", cheats, func(id string) bool { return fixes[id] == nil || !fixes[id].Gold.Accepted }); err != nil {
			return err
		}
	}
	var all []*outcome
	for _, c := range cases {
		if o := fixes[c.ID]; o != nil {
			if cheats[c.ID] != nil {
				o.Cheats = cheats[c.ID].Cheats
			}
			all = append(all, o)
		}
	}
	return report(w, all)
}

func read(file string) (map[string]*outcome, error) {
	out := map[string]*outcome{}
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		o := new(outcome)
		if json.Unmarshal(in.Bytes(), o) == nil { // the last line may be cut off
			out[o.ID] = o
		}
	}
	return out, in.Err()
}

func keep(file string, o *outcome) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// measure measures a case.
func measure(ctx context.Context, log io.Writer, set settings, c *corpus.Case, clone corpus.Clone, cheats bool) (*outcome, error) {
	o := &outcome{ID: c.ID, Repo: c.Repo}
	dir, err := os.MkdirTemp(set.work, "tree-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t, err := checkOut(clone, c, dir)
	if err != nil {
		return nil, err
	}
	module := moduleDirectory(dir, c.Directory)
	suite, err := t.suite(ctx, module, set.importers)
	if err != nil {
		o.Open = err.Error()
		return o, ctx.Err()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tr, err := trial.Open(ctx, trial.Options{
		Dir: module, Scratch: filepath.Join(set.work, "scratch"), Cache: set.cache, Suite: suite, Runs: set.runs, Workers: 1,
		Limits: sandbox.Limits{Time: set.limit, Output: 64 << 20, Memory: 6 << 30, Processes: 2000}, Run: sandbox.New([]string{self, "inner"}).Run, Allow: func(patch.Reason) bool { return true },
		Progress: func(step string) { fmt.Fprintf(log, "\t%s %s\n", time.Now().Format(time.TimeOnly), step) },
	})
	if err != nil {
		o.Open = err.Error()
		return o, ctx.Err()
	}
	defer tr.Close()
	var wanted []trial.TestID
	for _, d := range slices.Sorted(maps.Keys(c.FailToPass)) {
		for _, name := range c.FailToPass[d] {
			wanted = append(wanted, trial.TestID{Package: c.Module + strings.TrimSuffix("/"+d, "/."), Name: name})
		}
	}
	start := time.Now()
	b, err := tr.Baseline(ctx, wanted...)
	o.Before = time.Since(start)
	if err != nil {
		o.Open = err.Error()
		return o, ctx.Err()
	}
	o.Flaky = len(b.Flaky())
	if !cheats {
		start = time.Now()
		o.Guard = guard(t.gold)
		o.Gold, err = tr.Judge(ctx, t.gold, wanted...)
		o.Took = time.Since(start)
		fmt.Fprintf(log, "\t%s", o.Gold)
		return o, err
	}
	n := 0
	for _, ch := range t.cheats(c, wanted) {
		a := attempt{Kind: ch.kind, Guard: guard(ch.patch)}
		if a.Guard != "" {
			n++
		}
		if a.Guard == "" || set.bare > 0 && n%set.bare == 0 && !ch.guardOnly {
			a.Tried = true
			if a.Verdict, err = tr.Judge(ctx, ch.patch, wanted...); err != nil {
				return nil, err
			}
			a.Verdict.Failures = nil
		}
		fmt.Fprintf(log, "\t%s: guard %q, %s at %s: %s\n", a.Kind, a.Guard, map[bool]string{true: "ACCEPTED", false: "refused"}[a.Verdict.Accepted], a.Verdict.Stage, a.Verdict.Reason)
		o.Cheats = append(o.Cheats, a)
	}
	return o, nil
}

// report prints the figures.
func report(w io.Writer, all []*outcome) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	type sums struct{ cases, ran, accepted, guarded, cheats, refusedByGuard, tried, passed, bare int }
	by := map[string]*sums{}
	kinds := map[string]*sums{}
	var repos []string
	total := new(sums)
	var times []time.Duration
	var notes bytes.Buffer
	for _, o := range all {
		s := by[o.Repo]
		if s == nil {
			s = new(sums)
			by[o.Repo] = s
			repos = append(repos, o.Repo)
		}
		for _, s := range []*sums{s, total} {
			s.cases++
			if o.Open == "" {
				s.ran++
				if o.Gold.Accepted {
					s.accepted++
					if o.Guard == "" {
						s.guarded++
					}
				}
			}
		}
		switch {
		case o.Open != "":
			fmt.Fprintf(&notes, "%s can't be measured: %s\n", o.ID, phrase.Cut(strings.Join(strings.Fields(o.Open), " "), 300))
		case !o.Gold.Accepted:
			fmt.Fprintf(&notes, "%s: the fix is refused at %s: %s\n", o.ID, o.Gold.Stage, phrase.Cut(o.Gold.Reason, 300))
		case o.Guard != "":
			fmt.Fprintf(&notes, "%s: the guard refuses the fix: %s\n", o.ID, phrase.Cut(o.Guard, 300))
		}
		if o.Open == "" {
			times = append(times, o.Took)
		}
		for _, a := range o.Cheats {
			k := kinds[a.Kind]
			if k == nil {
				k = new(sums)
				kinds[a.Kind] = k
			}
			guarded, bare := a.accepted()
			for _, s := range []*sums{s, total, k} {
				s.cheats++
				if a.Guard != "" {
					s.refusedByGuard++
				}
				if a.Tried {
					s.tried++
				}
				if guarded {
					s.passed++
				}
				if bare {
					s.bare++
				}
			}
			if guarded || bare {
				fmt.Fprintf(&notes, "%s: %s is accepted%s\n", o.ID, a.Kind, map[bool]string{true: "", false: " without the guard (" + phrase.Cut(a.Guard, 200) + ")"}[guarded])
			}
		}
	}
	fmt.Fprintln(tab, "repository\tcases\trun here\tfix accepted\tand by the guard\tcheats\trefused by the guard\tbuilt and tested\taccepted\taccepted without the guard")
	line := func(name string, s *sums) {
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", name, s.cases, s.ran, s.accepted, s.guarded, s.cheats, s.refusedByGuard, s.tried, s.passed, s.bare)
	}
	for _, r := range repos {
		line(r, by[r])
	}
	line("all", total)
	fmt.Fprintln(tab, "\ncheat\t\t\t\t\tchanges\trefused by the guard\tbuilt and tested\taccepted\taccepted without the guard")
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		s := kinds[k]
		fmt.Fprintf(tab, "%s\t\t\t\t\t%d\t%d\t%d\t%d\t%d\n", k, s.cheats, s.refusedByGuard, s.tried, s.passed, s.bare)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if slices.Sort(times); len(times) > 0 {
		fmt.Fprintf(w, "\nA verdict on a fix takes %s (median), %s at most.\n", phrase.Duration(times[len(times)/2]), phrase.Duration(times[len(times)-1]))
	}
	_, err := fmt.Fprintf(w, "\n%s", notes.Bytes())
	return err
}
