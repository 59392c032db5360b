package locate

import "tracerag/rank"

// Weights says what each list of evidence counts. The best text has about 1.
type Weights struct {
	// Text are the weights of package rank.
	Text rank.Weights

	// Added for what a list found, which is at most 1 each.
	Place, History, Frames, Literals, Tests, Calls, Vectors float64

	// Route is added to the functions of a repository by how likely the report means
	// it.
	Route float64

	// Names says whether the functions that the report names are candidates. What a name is
	// worth is in Text.
	Names bool

	// Sum is what the second and the third function of a file or package add to the
	// score of the first.
	Sum float64
}

// Default are the weights that are used where none are given. docs/locating.md has what
// each is worth.
var Default = Weights{
	Text:  rank.Default,
	Place: .3, History: .2, Frames: 2, Literals: .1, Tests: .02, Calls: .02, Vectors: .2,
	Route: .5,
	Names: true,
}
