// Locating measures package locate on a corpus of real bug fixes: is the function that the
// fix changed among all those of the repository, at what rank, when nothing but the report
// is known?
//
//	go run ./bench/locating -corpus DIR -clones DIR
//
// The clones have the texts and the history as they were before the fix. Nothing is
// checked out, built or run, and no later commit is read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tracerag/bench/corpus"
	"tracerag/eval/retrieval"
	"tracerag/locate"
)

func main() {
	corpus := flag.String("corpus", "", "the `directory` of the corpus")
	clones := flag.String("clones", "", "the `directory` of the clones, each as OWNER/NAME or NAME")
	split := flag.String("split", "dev", "the `name` of the cases' files")
	refit := flag.Bool("refit", false, "also choose the weights anew for each repository on the others (minutes)")
	ablate := flag.Bool("ablate", false, "also measure without each list of evidence")
	cases := flag.Bool("cases", false, "print a line for each case")
	decoys := flag.String("decoys", "", "clones of other `repositories`, DIR,DIR,...: also measure routing over all of them")
	embed := flag.String("embed", "", "also measure vectors, made by the `URL` of a server of embeddings (hours with a slow one)")
	embedModel := flag.String("embed-model", "default", "the `model` that makes them")
	vectors := flag.String("vectors", filepath.Join(os.TempDir(), "locating-vectors"), "the `file` that keeps them")
	how := flag.String("how", "", "measure these `strategies` with a scripted model, and nothing else: rerank,levels,summaries; or search")
	fix := flag.Bool("fix", false, "with -how: have scripted models repair the cases")
	several := flag.Bool("several", false, "with -how: all repositories of the cases in one store (slow)")
	calls := flag.String("calls", "", "the `directory` that keeps the calls of the commits: -how=search with them (minutes, downloads)")
	flag.Parse()
	if err := run(os.Stdout, os.Stderr, settings{*corpus, *clones, *split, *refit, *ablate, *cases, *decoys, *embed, *embedModel, *vectors, *how, *calls, *several, *fix}); err != nil {
		fmt.Fprintln(os.Stderr, "locating:", err)
		os.Exit(1)
	}
}

type settings struct {
	corpus, clones, split string
	refit, ablate, cases  bool
	decoys                string

	embed, embedModel, vectors string

	how, calls string
	several    bool
	fix        bool
}

func run(w, log io.Writer, set settings) error {
	if set.corpus == "" || set.clones == "" {
		return errors.New("where are the corpus and the clones of its repositories? use -corpus DIR -clones DIR")
	}
	cases, err := corpus.Read(set.corpus, set.split)
	if err != nil {
		return err
	}
	start := time.Now()
	all, err := load(cases, set.clones)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "%d commits read in %.0f s\n", len(all), time.Since(start).Seconds())

	if set.how != "" {
		if set.fix {
			return mendAll(w, all, set)
		}
		if set.how == "search" {
			return searching(w, log, all, set)
		}
		if set.several {
			together, err := togetherWith(all, nil)
			if err != nil {
				return err
			}
			for i := range all {
				all[i] = together(all[i])
			}
		}
		return guideAll(w, all, set.how, set.cases)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d cases of %s, %d of which changed a function; the report alone, the whole repository\n\n", len(all), set.split, len(withFunctions(all)))
	header(t)
	plain := plainAll(all)
	located, err := locateAll(all, locate.Default)
	if err != nil {
		return err
	}
	row(t, "plain BM25", plain)
	row(t, "locate", located)
	var left []result
	if set.refit {
		if left, err = leaveOut(all); err != nil {
			return err
		}
		row(t, "weights of the other repositories", left)
	}
	for _, s := range strata(all) {
		row(t, s.name, pick(located, s.has))
		row(t, "  plain", pick(plain, s.has))
	}
	if set.ablate {
		for _, a := range ablations {
			weights := locate.Default
			a.without(&weights)
			rs, err := locateAll(all, weights)
			if err != nil {
				return err
			}
			row(t, a.name, rs)
		}
	}
	if set.embed != "" {
		e, err := newEmbedder(set.embed, set.embedModel, set.vectors)
		if err != nil {
			return err
		}
		if err := withVectors(all, e, func(name string, rs []result) { row(t, name, rs) }); err != nil {
			return err
		}
	}
	ran, err := corpus.ReadExecuted(set.corpus, set.split, cases)
	if err != nil {
		return err
	}
	traced, ranked, err := traceAll(all, ran)
	if err != nil {
		return err
	}
	row(t, "rank, what the failing test ran", ranked)
	row(t, "locate, with its trace", traced)
	t.Flush()
	fmt.Fprintln(w)
	intervalLine(w, "locate", located, plain)
	if left != nil {
		intervalLine(w, "weights of the other repositories", left, plain)
	}
	intervalLine(w, "locate with the trace (less rank)", traced, ranked)
	if set.decoys != "" {
		fmt.Fprintln(w)
		if err := routing(w, all, set); err != nil {
			return err
		}
	}
	if set.cases {
		fmt.Fprintln(w)
		for i, r := range located {
			fmt.Fprintf(w, "%s\t%v\tfile %d\tplain %v, file %d\n", r.c.ID, r.At, r.file, plain[i].At, plain[i].file)
		}
	}
	return nil
}

// ablations are locate without one list of evidence each.
var ablations = []struct {
	name    string
	without func(*locate.Weights)
}{
	{"without names", func(w *locate.Weights) { w.Names = false; w.Text.Said = 0 }},
	{"without literals", func(w *locate.Weights) { w.Literals = 0 }},
	{"without place", func(w *locate.Weights) { w.Place = 0 }},
	{"without the title's package", func(w *locate.Weights) { w.Text.Titled = 0 }},
	{"without history", func(w *locate.Weights) { w.History = 0 }},
	{"without frames", func(w *locate.Weights) { w.Frames = 0 }},
	{"without tests", func(w *locate.Weights) { w.Tests = 0 }},
	{"without calls", func(w *locate.Weights) { w.Calls = 0 }},
	{"without windows", func(w *locate.Weights) { w.Text.Window = 1e6 }},
	{"without the name's weight", func(w *locate.Weights) { w.Text.Name = 1 }},
	{"words alone", func(w *locate.Weights) { *w = locate.Weights{Text: w.Text} }},
	{"files: half of the next two", func(w *locate.Weights) { w.Sum = .5 }},
	{"files: sum of the best three", func(w *locate.Weights) { w.Sum = 1 }},
}

func header(t *tabwriter.Writer) {
	fmt.Fprintln(t, "\tcases\tany@1\tany@5\tany@10\tall@10\tMRR\tfile@1\tfile@5\tfile@10\t")
}

func row(t *tabwriter.Writer, name string, rs []result) {
	if len(rs) == 0 {
		return
	}
	with := withFunctionsOf(rs)
	fmt.Fprintf(t, "%s\t%d\t", name, len(with))
	for _, n := range []int{1, 5, 10} {
		fmt.Fprintf(t, "%.3f\t", retrieval.Share(with, func(r result) bool { return r.Any(n) }))
	}
	fmt.Fprintf(t, "%.3f\t%.3f\t", retrieval.Share(with, func(r result) bool { return r.All(10) }), retrieval.Mean(reciprocals(with)))
	for _, n := range []int{1, 5, 10} {
		fmt.Fprintf(t, "%.3f\t", retrieval.Share(rs, func(r result) bool { return r.file > 0 && r.file <= n }))
	}
	fmt.Fprintln(t)
}

func intervalLine(w io.Writer, name string, a, b []result) {
	m, low, high := retrieval.Interval(reciprocals(withFunctionsOf(a)), reciprocals(withFunctionsOf(b)))
	fmt.Fprintf(w, "MRR of %s, less that of the plain one: %+.3f (95 %% interval %+.3f to %+.3f)\n", name, m, low, high)
}

type stratum struct {
	name string
	has  func(*loaded) bool
}

func strata(all []*loaded) []stratum {
	out := []stratum{
		{"the report names a gold function", func(c *loaded) bool { return c.NamesGold }},
		{"it names none", func(c *loaded) bool { return !c.NamesGold }},
		{"up to 1,000 functions", func(c *loaded) bool { return c.Size.Functions <= 1000 }},
		{"over 1,000", func(c *loaded) bool { return c.Size.Functions > 1000 }},
	}
	var repos []string
	for _, c := range all {
		repos = append(repos, c.Repo)
	}
	slices.Sort(repos)
	for _, r := range slices.Compact(repos) {
		out = append(out, stratum{r[strings.LastIndexByte(r, '/')+1:], func(c *loaded) bool { return c.Repo == r }})
	}
	return out
}
