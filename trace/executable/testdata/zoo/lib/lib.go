// Package lib is in a module of its own.
package lib

// Twice is inlined into its callers.
func Twice(f func(int) int, x int) int { return f(f(x)) }

// Sum has code of its own.
//
//go:noinline
func Sum(xs ...int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}
