package report

import (
	"math"
	"testing"
)

// TestStudent holds the quantiles against the published ones (NIST/SEMATECH e-Handbook of
// Statistical Methods, 1.3.6.7.2, column 0.975).
func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
		15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 100: 1.984, 1e6: 1.960,
	} {
		if got := student(df); math.Abs(got-want) > 0.0005 {
			t.Errorf("%g degrees of freedom: %.4f, want %.3f", df, got, want)
		}
	}
	if a, b, c := student(2), student(2.5), student(3); !(a > b && b > c) {
		t.Errorf("between 2 and 3 degrees of freedom is %g, not between %g and %g", b, a, c)
	}
}

func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		values      []float64
		value, half float64 // a half below 0 is none
	}{
		{[]float64{3}, 3, -1},
		{[]float64{4, 4, 4}, 4, 0},
		{[]float64{3, 4}, 3.5, 12.706 * 0.5},              // s = 0.7071, of the mean 0.5
		{[]float64{2, 3, 4}, 3, 4.303 * 1 / math.Sqrt(3)}, // s = 1
	} {
		m := meanOf(tt.values)
		if m.N != len(tt.values) || math.Abs(m.Value-tt.value) > 1e-9 || !sameHalf(m.Half, tt.half) {
			t.Errorf("%v: %+v, want %g ± %g", tt.values, m, tt.value, tt.half)
		}
	}

	two, three, one := meanOf([]float64{3, 4}), meanOf([]float64{1, 2, 3}), meanOf([]float64{2})
	for _, tt := range []struct {
		means       []Mean
		value, half float64
	}{
		{nil, 0, -1},
		{[]Mean{two}, 3.5, 12.706 * 0.5},
		{[]Mean{two, one}, 2.75, -1},
		// Equal variances of 1/4 with one degree of freedom each: 1/8, with 2.
		{[]Mean{two, two}, 3.5, 4.303 * math.Sqrt(1.0/8)},
		// 1/16 with 1 and 1/12 with 2 degrees: 7/48, with (7/48)^2/(1/256+1/288) = 2.882.
		{[]Mean{two, three}, 2.75, student(2.8823529) * math.Sqrt(7.0/48)},
		{[]Mean{meanOf([]float64{1, 1}), meanOf([]float64{2, 2})}, 1.5, 0},
	} {
		m := meanOfMeans(tt.means)
		if math.Abs(m.Value-tt.value) > 1e-9 || !sameHalf(m.Half, tt.half) {
			t.Errorf("%v: %g ± %g, want %g ± %g", tt.means, m.Value, m.Half, tt.value, tt.half)
		}
	}
}

func sameHalf(got, want float64) bool {
	return want < 0 && math.IsNaN(got) || math.Abs(got-want) < 0.001
}
