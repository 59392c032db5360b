// Package odd has a dot in the last element of its path, which the linker
// escapes.
package odd

// Counter has a method with a pointer receiver.
type Counter struct{ n int }

// Add is small enough to be inlined.
func (c *Counter) Add(by int) int {
	c.n = add(c.n, by)
	return c.n
}

func add(a, b int) int { return a + b }

// Slow is not.
//
//go:noinline
func (c *Counter) Slow() int { return c.n }
