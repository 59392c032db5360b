// Package locating measures how good locating is: on one's own reports, or on a corpus of bug fixes.
//
//	cases, err := locating.Read("cases.yaml")
//	r, err := locating.Run(ctx, locating.Options{Cases: cases, How: guided.All(), ...})
//	err = r.Write(os.Stdout)
//
// A [Case] is a report with what had to be found. One with a commit is located in that commit:
// its files are written from a git clone into a temporary directory and indexed there. One without is
// located in a working tree. Nothing of a repository is built or run.
//
// Beside the strategies of package locate/guided there are the baselines of the papers, BM25 and
// BM25+ (baseline.go). An [Outcome] says where the wanted functions and files were in the order of
// a strategy, and what it took. It is kept as soon as it is known, under a hash of all that it depends
// on (keep.go): a run that was broken off goes on where it was. What a model answered is kept
// by package llm/metered on top of that, so that not even the case under way is asked again.
package locating
