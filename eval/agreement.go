package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// HumanGrader is the name of anyone who fills in sheets, JudgePrefix begins the
// name of a model that judges.
const (
	HumanGrader = "human"
	JudgePrefix = "judge "
)

// CompareGraders puts people before judges, by name, and these before the automatic
// grader.
func CompareGraders(a, b string) int {
	rank := func(g string) int {
		switch {
		case g == HumanGrader:
			return 0
		case strings.HasPrefix(g, JudgePrefix):
			return 1
		case g == AutoGrader:
			return 3
		}
		return 2
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// Agreement is how alike two graders mark.
type Agreement struct {
	A, B  string
	Marks int     // that both gave: to the same criterion of the same answer
	Equal float64 // the share of them that are equal
	Apart float64 // the mean difference of their shares, 0 to 1

	// Kappa is Cohen's kappa with linear weights: 1 if all marks are equal, 0 if they
	// are no more alike than chance would have it, and negative if they are less. It is
	// nil where chance alone would make all marks equal: where both graders gave one and
	// the same mark throughout.
	Kappa *float64
}

// Agreements compares each two graders, over the gradings that each answer has.
//
// Marks are ordered, and 0 is further from 1 than 0.5 is. So kappa is weighted by the
// distance (J. Cohen, "Weighted kappa", Psychological Bulletin 70, 1968): it is
// 1 - observed/expected, the mean distance of two marks of the same criterion over
// that of each mark of the one with each mark of the other. With the marks 0, 0.5 and 1
// these are the linear weights of the literature; other shares, which the automatic
// grader gives for terms, need no categories that way.
func Agreements(answers [][]Grading) []Agreement {
	pairs := map[[2]string][][2]float64{}
	for _, gradings := range answers {
		for _, a := range gradings {
			for _, b := range gradings {
				if CompareGraders(a.Grader, b.Grader) >= 0 {
					continue
				}
				for _, m := range a.Marks {
					i := slices.IndexFunc(b.Marks, func(o Mark) bool { return o.Criterion == m.Criterion })
					if i >= 0 {
						who := [2]string{a.Grader, b.Grader}
						pairs[who] = append(pairs[who], [2]float64{m.Share, b.Marks[i].Share})
					}
				}
			}
		}
	}
	var all []Agreement
	for who, marks := range pairs {
		a := Agreement{A: who[0], B: who[1], Marks: len(marks)}
		for _, m := range marks {
			a.Apart += math.Abs(m[0] - m[1])
			if m[0] == m[1] {
				a.Equal++
			}
		}
		a.Apart /= float64(len(marks))
		a.Equal /= float64(len(marks))
		a.Kappa = kappa(marks)
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y Agreement) int {
		return cmp.Or(CompareGraders(x.A, y.A), CompareGraders(x.B, y.B))
	})
	return all
}

func kappa(marks [][2]float64) *float64 {
	var observed, expected float64
	for _, a := range marks {
		observed += math.Abs(a[0] - a[1])
		for _, b := range marks {
			expected += math.Abs(a[0] - b[1])
		}
	}
	n := float64(len(marks))
	if expected == 0 {
		return nil
	}
	k := 1 - observed*n/expected // n marks over n*n pairs of them
	return &k
}
