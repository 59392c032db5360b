// Package retrieval measures orders: at which places of a list of functions, files or
// repositories are those that were wanted? It has the measures of the field (any@k, all@k, the
// mean reciprocal rank) and BM25 as it is usually written, which a better order is held
// against.
package retrieval

import (
	"math/rand/v2"
	"slices"
)

// Ranks says where the wanted items are in one order.
type Ranks struct {
	At     []int `json:"at"`     // places of those that were found, from 1, ascending
	Wanted int   `json:"wanted"` // how many there are, found or not
}

// Reciprocal is 1 over the first place; 0 if nothing wanted was found.
func (r Ranks) Reciprocal() float64 {
	if len(r.At) == 0 {
		return 0
	}
	return 1 / float64(r.At[0])
}

// Any reports whether one of the wanted is among the first k.
func (r Ranks) Any(k int) bool { return len(r.At) > 0 && r.At[0] <= k }

// All reports whether all of the wanted are among the first k.
func (r Ranks) All(k int) bool {
	return len(r.At) > 0 && len(r.At) == r.Wanted && r.At[len(r.At)-1] <= k
}

// Recall is the part of the wanted that are among the first k.
func (r Ranks) Recall(k int) float64 {
	n, _ := slices.BinarySearch(r.At, k+1)
	return float64(n) / float64(max(r.Wanted, 1))
}

// Share returns the part of the items that are so; 0 of none.
func Share[T any](of []T, is func(T) bool) float64 {
	n := 0
	for _, x := range of {
		if is(x) {
			n++
		}
	}
	return float64(n) / float64(max(len(of), 1))
}

// Mean returns the mean; 0 of none.
func Mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(len(of), 1))
}

// Interval returns the mean of a[i]-b[i] and its 95 % interval, by a bootstrap over the pairs
// that gives the same figures each time. a and b are of one length.
func Interval(a, b []float64) (mean, low, high float64) {
	const rounds = 10_000
	diff := make([]float64, len(a))
	for i := range a {
		diff[i] = a[i] - b[i]
		mean += diff[i] / float64(len(a))
	}
	random := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, rounds)
	for i := range means {
		for range diff {
			means[i] += diff[random.IntN(len(diff))] / float64(len(diff))
		}
	}
	slices.Sort(means)
	return mean, means[rounds*25/1000], means[rounds*975/1000]
}
