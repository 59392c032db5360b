package sqlite

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
	productFunctions = iota
	productOthers    // types, constants, variables
	testFunctions    // of _test.go files
	others
	groups
)

func group(f *knowledge.File, k code.Kind) int64 {
	switch {
	case f.Vendored || f.Testdata || f.Ignored || f.Generated:
		return others
	case f.Test && k.Callable():
		return testFunctions
	case f.Test:
		return others
	case k.Callable():
		return productFunctions
	}
	return productOthers
}

// within returns the first and the last number that units of groups [from, to) may have.
func within(repository, from, to int64) (first, last int64) {
	return repository<<repositoryShift | from<<groupShift, repository<<repositoryShift | to<<groupShift - 1
}

// Bits of file.class.
const (
	bitTest = 1 << iota
	bitVendored
	bitTestdata
	bitIgnored
	bitGenerated
	bitTooLarge
)

func classBits(c code.Class, generated bool) int {
	n := 0
	for i, b := range []bool{c.Test, c.Vendored, c.Testdata, c.Ignored, generated, c.TooLarge} {
		if b {
			n |= 1 << i
		}
	}
	return n
}

func bitsClass(n int, platform string) (c code.Class, generated bool) {
	return code.Class{Test: n&bitTest != 0, Vendored: n&bitVendored != 0, Testdata: n&bitTestdata != 0,
		Ignored: n&bitIgnored != 0, TooLarge: n&bitTooLarge != 0, Platform: platform}, n&bitGenerated != 0
}
