package report

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Mean is a mean over repetitions.
type Mean struct {
	N     int // of answers; 0 is no mean
	Value float64

	// Half is half of the 95 % confidence interval; NaN if unknown.
	Half float64

	variance float64 // of the mean; NaN if unknown
}

func meanOf(values []float64) Mean {
	n := float64(len(values))
	m := Mean{N: len(values), Half: math.NaN(), variance: math.NaN()}
	if n == 0 {
		return m
	}
	for _, v := range values {
		m.Value += v / n
	}
	if n == 1 {
		return m
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - m.Value) * (v - m.Value)
	}
	m.variance = squares / (n - 1) / n
	m.Half = student(n-1) * math.Sqrt(m.variance)
	return m
}

// meanOfMeans is the mean of independent means, each with the same weight.
func meanOfMeans(means []Mean) Mean {
	var m Mean
	k := float64(len(means))
	squares := 0.0
	for _, x := range means {
		m.N += x.N
		m.Value += x.Value / k
		v := x.variance / (k * k)
		m.variance += v
		if v > 0 {
			squares += v * v / float64(x.N-1)
		}
	}
	switch {
	case k == 0 || math.IsNaN(m.variance):
		m.Half = math.NaN()
	case m.variance > 0:
		m.Half = student(m.variance*m.variance/squares) * math.Sqrt(m.variance)
	}
	return m
}

// student is the 97.5 % quantile of Student's t distribution with df degrees of
// freedom, which need not be a whole number.
func student(df float64) float64 {
	// P(|T| > t) is the regularized incomplete beta function at df/(df+t*t) with the
	// parameters df/2 and 1/2 (Abramowitz and Stegun, 26.7.1). Package distuv has the
	// quantile itself, and matrices with it: 2.7 MB more of program, against 16 kB for mathext.
	x := mathext.InvRegIncBeta(df/2, 0.5, 0.05)
	return math.Sqrt(df * (1 - x) / x)
}
