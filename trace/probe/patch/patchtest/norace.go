//go:build !race

package patchtest

// Sample is 1 without the race detector.
const Sample = 1
