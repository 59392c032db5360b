// Package report lays the results of experiments out as Kamiya's paper does (2024,
// section 4): tables 4 to 7 of scores, tables 8 and 9 of prompt sizes, and figure 2.
package report

import "tracerag/eval"

// Result is an answer and what its graders gave it.
type Result struct {
	Answer   eval.Answer
	Gradings []eval.Grading
}
