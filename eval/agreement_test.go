package eval

import (
	"fmt"
	"math"
	"testing"
)

// gradings gives two graders one mark each of as many answers as a table says.
func gradings(table [3][3]int) (answers [][]Grading) {
	shares := []float64{0, 0.5, 1}
	for i, row := range table {
		for j, n := range row {
			for range n {
				answers = append(answers, []Grading{
					{Grader: "auto", Marks: []Mark{{Criterion: "c", Share: shares[j]}}},
					{Grader: "human", Marks: []Mark{{Criterion: "only"}, {Criterion: "c", Share: shares[i]}}},
				})
			}
		}
	}
	return answers
}

func TestAgreements(t *testing.T) {
	const undefined = -9
	for _, tt := range []struct {
		name                string
		table               [3][3]int // rows: human 0, 0.5, 1; columns: auto
		equal, apart, kappa float64
	}{
		{"all equal", [3][3]int{{3, 0, 0}, {0, 4, 0}, {0, 0, 5}}, 1, 0, 1},
		{"all the same", [3][3]int{{0, 0, 0}, {0, 0, 0}, {0, 0, 7}}, 1, 0, undefined},
		{"always another", [3][3]int{{0, 0, 1}, {0, 0, 0}, {1, 0, 0}}, 0, 1, -1},
		{"as by chance", [3][3]int{{1, 0, 1}, {0, 0, 0}, {1, 0, 1}}, 0.5, 0.5, 0},
		// By hand: of 20, 5 are half a point apart and 1 a whole one: 3.5/20. The rows
		// have 6, 6 and 8, the columns 7, 7 and 6; by chance 6*7+6*7+6*6+8*7 pairs of 400 are
		// half a point apart, 6*6+8*7 a whole one: (176/2 + 92)/400 = 180/400. 1 - 70/180.
		{"some apart", [3][3]int{{5, 0, 1}, {2, 4, 0}, {0, 3, 5}}, 14.0 / 20, 3.5 / 20, 1 - 70.0/180},
	} {
		got := Agreements(gradings(tt.table))
		if len(got) != 1 || got[0].A != "human" || got[0].B != "auto" {
			t.Fatalf("%s: %+v, want one pair", tt.name, got)
		}
		a := got[0]
		k := float64(undefined)
		if a.Kappa != nil {
			k = *a.Kappa
		}
		if math.Abs(a.Equal-tt.equal)+math.Abs(a.Apart-tt.apart)+math.Abs(k-tt.kappa) > 1e-9 {
			t.Errorf("%s: equal %g, apart %g, kappa %g; want %g, %g, %g", tt.name, a.Equal, a.Apart, k, tt.equal, tt.apart, tt.kappa)
		}
	}
}

func TestAgreementsAreOfEachTwo(t *testing.T) {
	mark := func(grader, criterion string) Grading {
		return Grading{Grader: grader, Marks: []Mark{{Criterion: criterion}}}
	}
	got := Agreements([][]Grading{
		{mark("auto", "a"), mark("judge z", "a"), mark("judge b", "a"), mark("human", "a")},
		{mark("auto", "a"), mark("human", "b")},
	})
	var pairs string
	for _, a := range got {
		pairs += fmt.Sprintf("%s/%s %d; ", a.A, a.B, a.Marks)
	}
	if want := "human/judge b 1; human/judge z 1; human/auto 1; judge b/judge z 1; judge b/auto 1; judge z/auto 1; "; pairs != want {
		t.Errorf("got  %s\nwant %s", pairs, want)
	}
}
