package rank

// Weights are the parameters of the formula in [Rank]. They are few, and the
// result does not depend on their second digit.
type Weights struct {
	K1 float64 // saturation of a word's frequency in BM25
	B  float64 // how much length counts in BM25, 0 to 1

	// What a word of the question counts by where it is: in its first
	// line, in the rest, in the test's name. One in the subtest's counts half of that.
	Title, Body, Test float64

	// What a word counts that means nearly the same as one of the question, as a part of
	// that one's weight: "shown" and print.
	Related float64

	// What a word counts in a function's name; a word in the receiver, the
	// doc comment, the package's name or the body counts 1.
	Name float64

	// Lines of a window of a body. Windows begin at every half of it.
	Window int

	// Added to the text's score, which is 1 for the best: the question says
	// the function's name, or quotes one of its literals, or does both. Near is for the
	// functions next to the best ones, less with their distance.
	Said, Near float64

	// Factors, as exponents of e: the function is in the test's package, in
	// a package that the title begins with; makes a value ("New..."); did
	// nothing that an empty run did not; no passing run executed it; it only reports
	// that a test failed.
	SamePackage, Titled, Constructor, Startup, Unshared, Reporting float64
}

// Default are the weights that are used where none are given.
var Default = Weights{
	K1: 1.5, B: .3,
	Title: 2, Body: 1, Test: .5,
	Related: .05, Name: 4,
	Window: 40,
	Said:   .1, Near: .02,
	SamePackage: .15, Titled: .3, Constructor: -.3, Startup: -.3, Unshared: .05, Reporting: -1.5,
}
