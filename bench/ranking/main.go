// Ranking measures package rank on a corpus of real bug fixes: is the function that
// the fix changed among those that the failing test executed, at what rank, and
// is it whole in a prompt of so many tokens?
//
//	go run ./bench/ranking -corpus DIR -clones DIR
//
// The corpus (SPLIT.jsonl and SPLIT-executed.jsonl.gz) says what the tests
// executed, and git clones of the repositories have the texts. Nothing of them
// is built or run.
//
//	go run ./bench/ranking -questions bench/ranking/questions.yaml
//
// measures it on questions of another kind (how is X shown, why has Y no effect) about
// runs of programs from the module proxy, which are installed and recorded for it. The
// questions are in two halves by program: whoever changes package rank looks at the
// half "tuning" and measures on "held-out".
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/eval/retrieval"
	"tracerag/prompt"
	"tracerag/rank"
)

func main() {
	corpus := flag.String("corpus", "", "the `directory` of the corpus")
	clones := flag.String("clones", "", "the `directory` of the clones, each as OWNER/NAME or NAME")
	split := flag.String("split", "dev", "the `name` of the cases' files")
	refit := flag.Bool("refit", false, "also choose the weights anew for each repository on the others (minutes)")
	cases := flag.Bool("cases", false, "print a line for each case")
	questions := flag.String("questions", "", "the `file` of questions about programs, in place of a corpus")
	flag.Parse()
	var err error
	if *questions != "" {
		err = runQuestions(os.Stdout, os.Stderr, *questions, *refit, *cases)
	} else {
		err = run(os.Stdout, *corpus, *clones, *split, *refit, *cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ranking:", err)
		os.Exit(1)
	}
}

// runQuestions measures the ranking on the two halves of the questions.
func runQuestions(w, log io.Writer, file string, refit, cases bool) error {
	programs, err := readQuestions(file)
	if err != nil {
		return err
	}
	halves, err := allCases(log, programs)
	if err != nil {
		return err
	}
	weights := rank.Default
	if refit {
		f := &fitter{halves[tuning], map[rank.Weights][]result{}}
		weights = choose(func(w rank.Weights) float64 { return meanReciprocal(f.results(w)) })
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	header(t)
	var lines []string
	for _, half := range []string{tuning, heldOut} {
		bugs := halves[half]
		plain := plainAll(bugs)
		ranked := rankAll(bugs, rank.Default)
		row(t, half+": plain BM25", plain)
		row(t, half+": rank", ranked)
		if refit {
			row(t, half+": weights of the tuning half", rankAll(bugs, weights))
		}
		lines = append(lines, caseLines(ranked, plain)...)
	}
	t.Flush()
	if refit {
		fmt.Fprintf(w, "\nweights of the tuning half: %+v\n", weights)
	}
	if cases {
		fmt.Fprintln(w)
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

func plainAll(bugs []*bug) []result {
	out := make([]result, len(bugs))
	for i, b := range bugs {
		out[i] = b.judge(b.plain())
	}
	return out
}

// caseLines have the ranks of each case, and those by plain BM25.
func caseLines(ranked, plain []result) []string {
	var out []string
	for i, r := range ranked {
		out = append(out, fmt.Sprintf("%s\t%v\tplain %v\t%d functions", r.bug.ID, r.At, plain[i].At, len(r.bug.Executed)))
	}
	return out
}

func run(w io.Writer, corpus, clones, split string, refit, cases bool) error {
	if corpus == "" || clones == "" {
		return errors.New("say where the corpus and the clones of its repositories are: -corpus DIR -clones DIR")
	}
	bugs, err := readBugs(corpus, split)
	if err != nil {
		return err
	}
	for _, b := range bugs {
		if err := b.readSources(clones); err != nil {
			return err
		}
	}

	plain := plainAll(bugs)
	ranked := rankAll(bugs, rank.Default)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d cases of %s whose fix changed a function\n\n", len(bugs), split)
	header(t)
	row(t, "plain BM25", plain)
	row(t, "rank", ranked)
	var left []result
	if refit {
		left = (&fitter{bugs, map[rank.Weights][]result{}}).leaveOut()
		row(t, "weights of the other repositories", left)
	}
	for _, s := range strata(bugs) {
		row(t, s.name, pick(ranked, s.has))
	}
	t.Flush()

	fmt.Fprintln(w)
	for _, r := range []struct {
		name    string
		results []result
	}{{"rank", ranked}, {"weights of the other repositories", left}} {
		if r.results != nil {
			mean, low, high := retrieval.Interval(reciprocals(r.results), reciprocals(plain))
			fmt.Fprintf(w, "MRR of %s less that of plain BM25: %+.3f (95 %% interval %+.3f to %+.3f)\n", r.name, mean, low, high)
		}
	}
	if refit {
		fmt.Fprintf(w, "chosen anew from plain BM25: %s\n", weightNames())
	}
	fmt.Fprintln(w)
	fits(w, bugs)
	if cases {
		fmt.Fprintln(w)
		for _, line := range caseLines(ranked, plain) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

// rankAll ranks every case.
func rankAll(bugs []*bug, w rank.Weights) []result {
	out := make([]result, len(bugs))
	for i, b := range bugs {
		var order []int
		for _, r := range b.rank(w) {
			order = append(order, r.Function)
		}
		out[i] = b.judge(order)
	}
	return out
}

func (b *bug) rank(w rank.Weights) []rank.Ranked {
	return rank.Rank(b.question(), rank.Corpus{Functions: b.functions(), Passing: b.Passing, Background: slices.Values(b.Others)}, w)
}

func header(t *tabwriter.Writer) {
	fmt.Fprintln(t, "\tcases\tany@1\tany@5\tany@10\tall@1\tall@5\tall@10\tMRR\ttokens to the first\t")
}

func row(t *tabwriter.Writer, name string, rs []result) {
	if len(rs) == 0 {
		return
	}
	fmt.Fprintf(t, "%s\t%d\t", name, len(rs))
	for _, is := range []func(result, int) bool{result.Any, result.All} {
		for _, n := range []int{1, 5, 10} {
			fmt.Fprintf(t, "%.3f\t", retrieval.Share(rs, func(r result) bool { return is(r, n) }))
		}
	}
	fmt.Fprintf(t, "%.3f\t%d\t\n", meanReciprocal(rs), medianFirst(rs))
}

// stratum is a part of the cases.
type stratum struct {
	name string
	has  func(*bug) bool
}

func strata(bugs []*bug) []stratum {
	var out []stratum
	for _, b := range bugs {
		if repo := b.Repo; !slices.ContainsFunc(out, func(s stratum) bool { return s.name == repo }) {
			out = append(out, stratum{repo, func(b *bug) bool { return b.Repo == repo }})
		}
	}
	slices.SortFunc(out, func(a, b stratum) int { return strings.Compare(a.name, b.name) })
	either := func(yes, no string, has func(*bug) bool) {
		out = append(out, stratum{yes, has}, stratum{no, func(b *bug) bool { return !has(b) }})
	}
	either("the report names the function", "it does not", func(b *bug) bool { return b.NamesGold })
	either("report of under 20 words", "20 and more", func(b *bug) bool { return b.Words < 20 })
	either("under 137 functions ran", "137 and more", func(b *bug) bool { return len(b.Executed) < 137 })
	either("a function of over 2,000 tokens is meant", "none is", func(b *bug) bool {
		return slices.ContainsFunc(b.Executed, func(x executed) bool { return x.Gold && x.Tokens > 2000 })
	})
	return out
}

func pick(rs []result, has func(*bug) bool) []result {
	var out []result
	for _, r := range rs {
		if has(r.bug) {
			out = append(out, r)
		}
	}
	return out
}

// tiers are about what the n-th function, of so many tokens, costs at each tier: the corpus has the
// size of the whole only, and knows no lines that ran. The excerpt has the room that a prompt gives it.
func tiers(whole, n, budget int) (t [prompt.TierFull + 1]int) {
	const long, signature = 200, 50
	window := min(max(budget/(10+10*n), 80), 700)
	t[prompt.TierFull] = whole
	t[prompt.TierSignature] = min(signature, whole)
	if whole > long {
		t[prompt.TierWindow] = min(window, whole*2/3)
	}
	return t
}

// fits prints how many of the gold functions that ran stay whole in budgets of
// source.
func fits(w io.Writer, bugs []*bug) {
	budgets := []int{4_000, 8_000, 16_000, 32_000}
	whole := make([]int, len(budgets))
	cases := make([]int, len(budgets))
	ran, withGold := 0, 0
	for _, b := range bugs {
		items := make([]prompt.Item, len(b.Executed))
		order := b.rank(rank.Default)
		gold := 0
		for _, x := range b.Executed {
			if x.Gold {
				gold++
			}
		}
		ran += gold
		if gold > 0 {
			withGold++
		}
		for at, budget := range budgets {
			n := 0
			for k, r := range order {
				x := &b.Executed[r.Function]
				items[r.Function].Score = r.Score
				items[r.Function].Tokens = tiers(x.Tokens, k, budget)
			}
			for i, tier := range prompt.Fit(items, budget) {
				if b.Executed[i].Gold && tier == prompt.TierFull {
					n++
				}
			}
			whole[at] += n
			if gold > 0 && n == gold {
				cases[at]++
			}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "budget of source\tgold functions whole\tof those that ran\tcases with all of them\t")
	for at, budget := range budgets {
		fmt.Fprintf(t, "%d\t%d\t%.3f\t%.3f\t\n", budget, whole[at], float64(whole[at])/float64(max(ran, 1)), float64(cases[at])/float64(max(withGold, 1)))
	}
	t.Flush()
}
