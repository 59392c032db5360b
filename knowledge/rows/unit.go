package rows

import (
	"tracerag/code"
	"tracerag/knowledge"
)

// The number of a unit is that of its repository, its group, and its own in the group.
// Terms are kept in the order of these numbers (posting.go): so words are searched and
// counted in the functions of one repository's product code at the price of these
// functions, and with no join.
const (
	repositoryShift = 40
	groupShift      = 32
)

// The groups.
const (
	ProductFunctions = iota
	productOthers    // types, constants, variables
	testFunctions    // of _test.go files
	others
	Groups
)

// Group returns the group of a declaration of a file.
func Group(f *knowledge.File, k code.Kind) int64 {
	switch {
	case f.Vendored || f.Testdata || f.Ignored || f.Generated:
		return others
	case f.Test && k.Callable():
		return testFunctions
	case f.Test:
		return others
	case k.Callable():
		return ProductFunctions
	}
	return productOthers
}

// GroupOf returns the group that the number of a unit has.
func GroupOf(unit int64) int64 { return unit >> groupShift & 255 }

// Moved is the number of a unit with that of another repository.
func Moved(unit int64, repository func(int64) int64) int64 {
	return repository(unit>>repositoryShift)<<repositoryShift | unit&(1<<repositoryShift-1)
}

// MovedChunk is the number of a chunk with that of another repository.
func MovedChunk(chunk int64, repository func(int64) int64) int64 {
	return Moved(chunk<<ChunkShift, repository) >> ChunkShift
}

// Within returns the first and the last number that units of groups [from, to) may have.
func Within(repository, from, to int64) (first, last int64) {
	return repository<<repositoryShift | from<<groupShift, repository<<repositoryShift | to<<groupShift - 1
}
