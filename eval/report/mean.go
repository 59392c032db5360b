package report

import "math"

// Mean is a mean over repetitions.
type Mean struct {
	N     int // of answers; 0 is no mean
	Value float64

	// Half is half of the 95 % confidence interval; NaN where there is none.
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
	// parameters df/2 and 1/2 (Abramowitz and Stegun, 26.7.1), and falls with t.
	low, high := 0.0, 2.0
	tail := func(t float64) float64 { return beta(df/(df+t*t), df/2, 0.5) }
	for tail(high) > 0.05 {
		high *= 2
	}
	for high-low > 1e-10*high {
		middle := (low + high) / 2
		if tail(middle) > 0.05 {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// beta is the regularized incomplete beta function, by the continued fraction in
// Abramowitz and Stegun, 26.5.8, which converges fast below its mean.
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - beta(1-x, b, a)
	}
	const (
		tiny  = 1e-300
		steps = 10_000 // far more than it takes
	)
	// The fraction 1/(1+d1/(1+d2/(1+...))) from the front, as the quotient of two
	// neighbors in a sequence (Lentz).
	f, c, d := 1.0, 1.0, 0.0
	for i := range steps {
		m := float64(i / 2)
		coefficient := 1.0
		switch {
		case i == 0:
		case i%2 == 0:
			coefficient = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			coefficient = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		if d = 1 + coefficient*d; math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		if c = 1 + coefficient/c; math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if math.Abs(c*d-1) < 1e-14 {
			break
		}
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a * (f - 1)
}
