package retrieval

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestRanks(t *testing.T) {
	for _, tt := range []struct {
		name       string
		ranks      Ranks
		reciprocal float64
		any2, all2 bool
	}{
		{"none was found", Ranks{Wanted: 1}, 0, false, false},
		{"none was wanted", Ranks{}, 0, false, false},
		{"all are among the first", Ranks{[]int{1, 2}, 2}, 1, true, true},
		{"one is further down", Ranks{[]int{2, 3}, 2}, .5, true, false},
		{"one was not found", Ranks{[]int{1}, 2}, 1, true, false},
	} {
		if r := tt.ranks; r.Reciprocal() != tt.reciprocal || r.Any(2) != tt.any2 || r.All(2) != tt.all2 {
			t.Errorf("%s: %v %v %v", tt.name, r.Reciprocal(), r.Any(2), r.All(2))
		}
	}
}

func TestRecall(t *testing.T) {
	r := Ranks{At: []int{1, 3, 10}, Wanted: 4}
	for k, want := range map[int]float64{0: 0, 1: .25, 2: .25, 3: .5, 10: .75, 100: .75} {
		if got := r.Recall(k); got != want {
			t.Errorf("recall@%d is %v, not %v", k, got, want)
		}
	}
	if got := (Ranks{}).Recall(10); got != 0 {
		t.Errorf("none was wanted: %v", got)
	}
}

func TestInterval(t *testing.T) {
	a, b := make([]float64, 50), make([]float64, 50)
	for i := range a {
		a[i] = .5 + float64(i%2)/10
		b[i] = .4
	}
	mean, low, high := Interval(a, b)
	if math.Abs(mean-.15) > 1e-9 || low < .13 || low >= mean || high > .17 || high <= mean {
		t.Errorf("%v, from %v to %v", mean, low, high)
	}
	if m, l, h := Interval(a, b); m != mean || l != low || h != high {
		t.Error("not the same figures again")
	}
}

// A rare word counts for more than a frequent one, a short text for more than a long one, and
// a word that is asked for twice twice.
func TestBM25(t *testing.T) {
	texts := []string{"drawTable draws the table", "the Border", "the border of a long text with many words", "the"}
	s := BM25("the border", slices.Values(texts))
	if !(s[1] > s[2] && s[2] > s[3] && s[3] > s[0] && s[0] > 0) {
		t.Errorf("the border: %v", s)
	}
	// one of four texts has the word, twice among five words; their mean is 4.25
	if s, want := BM25("table", slices.Values(texts)), math.Log(1+3.5/1.5)*2*2.2/(2+1.2*(.25+.75*5/4.25)); math.Abs(s[0]-want) > 1e-9 || s[1] != 0 {
		t.Errorf("table: %v, want %v", s, want)
	}
	if once, twice := BM25("table", slices.Values(texts)), BM25("table Table", slices.Values(texts)); twice[0] != 2*once[0] {
		t.Errorf("twice %v, once %v", twice, once)
	}
	if s := BM25("table", slices.Values([]string(nil))); len(s) != 0 {
		t.Errorf("of no text: %v", s)
	}
}

// A long text with the word has what one occurrence is worth, at least.
func TestBM25Plus(t *testing.T) {
	texts := []string{"drawTable draws the table", "the Border", "the border of a long text with many words", "the"}
	// as in TestBM25, with the rarity log((4+1)/1), k1 1.5 and delta 1
	if s, want := BM25Plus("table", slices.Values(texts)), math.Log(5)*(1+2*2.5/(2+1.5*(.25+.75*5/4.25))); math.Abs(s[0]-want) > 1e-9 || s[1] != 0 {
		t.Errorf("table: %v, want %v", s, want)
	}
	long := append(texts, "table "+strings.Repeat("word ", 100_000))
	if s := BM25Plus("table", slices.Values(long)); s[4] < math.Log(6.0/2) {
		t.Errorf("a long text has %v", s[4])
	}
}
