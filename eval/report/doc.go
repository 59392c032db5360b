// Package report lays the results of experiments out as Kamiya's paper does (2024,
// section 4): tables 4 to 7 of scores, figure 2 of their averages by variant, tables 8
// and 9 of prompt sizes; and, beyond the paper, intervals over repetitions, cost and
// time, the agreement of graders, and what is suspected of being leaked.
//
// # Scores
//
// A cell of tables 4 to 7 is the mean of the points that a model's answers to one
// inquiry got in one variant. After ± comes half of the 95 % confidence interval by
// Student's t, where there are two answers or more. It is about repetition only: what
// the mean would be if the same model were asked the same again. It says nothing about
// other inquiries or other programs.
//
// A point of figure 2 is the mean of such cells, each of which counts alike, however
// many answers it has. Its interval takes the inquiries as given, too: the variance is
// that of a sum of independent means, its degrees of freedom are Welch and
// Satterthwaite's (B. L. Welch, Biometrika 34, 1947). One cell with a single answer
// leaves the whole mean without an interval. Inquiries with other than four points
// are scaled to the paper's four, or they would not make one mean.
//
// An asterisk marks scores of answers that cite what their prompt has not, as in
// the paper. A dagger marks what does not compare: scores that lack marks of
// criteria, which are then lower bounds, and means of fewer cells than their neighbors.
package report

import "tracerag/eval"

// Input is all that a report is made of. Nothing of it is changed.
type Input struct {
	Experiments []*eval.Experiment
	Results     []Result
	Sizes       []Size
	Sources     []Source

	// Grader is whose scores are shown: that of a [eval.Grading]. If it is empty
	// it is who gave the most marks; among equals people come before judges, and
	// these before the automatic grader.
	Grader string
}

// Result is an answer and what its graders gave it.
type Result struct {
	Answer   eval.Answer
	Gradings []eval.Grading
}

// Size is a cell of table 8.
type Size struct {
	Experiment string
	Inquiry    string
	Variant    eval.Variant
	Tokenizer  string // "o200k_base"
	Exact      bool   // counted with the tokenizer's vocabulary, not estimated
	Tokens     int
}

// Source is a row of table 9: the sources that an inquiry's prompts refer to.
type Source struct {
	Experiment string
	Inquiry    string
	Files      int // source files with functions in the prompt
	FileLines  int // lines of these files
	FullLines  int // lines of the prompt of variant full
	AllLines   int // lines of all modules in the program; 0 if not counted
}
