package knowledge

import (
	"context"

	"tracerag/code"
)

// Vector is what a model makes of a declaration's text, kept under the hashes of that.
type Vector struct {
	Tokens, Comments code.Hash
	Values           []float32
}

// Near is a declaration with a vector.
type Near struct {
	Decl
	Cosine float64 // of the angle to the vector that was asked for
}

// Vectors keeps vectors. Those of different models are never compared.
type Vectors interface {
	// Unembedded returns functions of the program, up to limit of them, that have no vector of
	// a model; none of tests, testdata, vendored and generated files.
	Unembedded(ctx context.Context, model string, repositories []int64, limit int) ([]Decl, error)
	SetVectors(ctx context.Context, model string, vectors []Vector) error
	// Nearest returns the functions whose vectors are nearest to one, the nearest first. It
	// looks at all of them.
	Nearest(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]Near, error)
}
