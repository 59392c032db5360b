//go:build race

package patchtest

// Sample is the share of a program's functions that tests look at: with the race
// detector they take 30 times as long, and it is about the planner's goroutines
// only.
const Sample = 25
