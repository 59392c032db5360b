package trace

import (
	"fmt"
	"math"
	"strings"
)

// Limit bounds the memory that a trace file may take: that of reading it, and of
// whatever is made of it then. A file of a hundred kilobytes can describe a tree of
// gigabytes, by accident or to do harm.
//
// The memory is reckoned before it is taken: so much for each node, each byte of text,
// and so on, with what the most demanding command does with it. The file is refused
// with a [*LimitError] as soon as the sum is over the limit.
type Limit struct {
	// Memory is the most that a file may take, in bytes, whatever its size; 0 means
	// DefaultMemory.
	Memory int64
	// Trusted: the memory was chosen for the file, which may have all of it.
	// Otherwise a small file may only have FreeMemory and MemoryFactor times its size.
	Trusted bool
}

const (
	defaultMemory = 4 << 30   // where the machine's memory is unknown
	FreeMemory    = 256 << 20 // that any file may take
	MemoryFactor  = 512       // and what more for each byte of it; traces of real programs take a third of that
)

// LimitOn is the limit on a machine with so many bytes of memory: half of them, and no
// less than a trace may have on the smallest machine. 0: unknown.
func LimitOn(memory int64) Limit {
	const least = 512 << 20
	if memory <= 0 {
		return Limit{}
	}
	return Limit{Memory: max(least, memory/2)}
}

// LimitError says that a file would take more memory than it may.
type LimitError struct {
	Size    int64 // of the file, in bytes
	Allowed int64 // memory, in bytes
	Ceiling bool  // Allowed is what any file may have at most, and not for its size
}

func (e *LimitError) Error() string {
	why := fmt.Sprintf("the most for a file of %s (%s and %d times its size)", byteSize(e.Size), byteSize(FreeMemory), MemoryFactor)
	if e.Ceiling {
		why = "the most for one trace"
	}
	return fmt.Sprintf("it takes more than %s of memory, %s", byteSize(e.Allowed), why)
}

// Twice is a memory limit that allows about twice as much, as a user writes it: 8GiB.
func (e *LimitError) Twice() string {
	return strings.ReplaceAll(byteSize(roundUp(2*e.Allowed)), " ", "")
}

// roundUp returns the power of two from n on.
func roundUp(n int64) int64 {
	p := int64(1 << 20)
	for p < n && p < 1<<60 {
		p *= 2
	}
	return p
}

// byteSize writes a number of bytes as people do.
func byteSize(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i, f := 0, float64(n)
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if f == math.Trunc(f) {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// budget is what one file may still take.
type budget struct {
	left int64
	over LimitError
}

func (l Limit) budget(size int64) *budget {
	most := l.Memory
	if most <= 0 {
		most = defaultMemory
	}
	allowed := most
	if !l.Trusted && size < (most-FreeMemory)/MemoryFactor {
		allowed = min(most, FreeMemory+MemoryFactor*size)
	}
	return &budget{left: allowed, over: LimitError{Size: size, Allowed: allowed, Ceiling: allowed == most}}
}

// take reckons n times that many bytes.
func (b *budget) take(n, bytes int64) error {
	if n > 0 && bytes > b.left/n {
		over := b.over
		return &over
	}
	b.left -= n * bytes
	return nil
}

// What things take in memory, with all that is made of them. TestMemoryIsReckonedRight
// of cmd/tracerag holds the commands to it.
const (
	nodeMemory     = 1 << 10 // of which the trace itself has a tenth, the tree and what is made of it the rest
	nameMemory     = 2       // for each byte of a node's names and files
	stringMemory   = 4       // for each byte of the table of strings
	tableMemory    = 400     // an entry of another table
	lineMemory     = 80      // a line of a location
	elementMemory  = 160     // a thing in a comment's JSON
	profileSamples = 300     // a sample of a foreign profile
	profileFrames  = 24      // a frame of it
	profileLabels  = 400     // a label of it
)

// Fits returns a [*LimitError] if n things of so many bytes are more than what may be
// made of a file of this size.
func (l Limit) Fits(size int64, n int, bytes int64) error {
	return l.budget(size).take(int64(n), bytes)
}

// FitsNodes is [Limit.Fits] for the nodes of a trace that is made of a file of this size.
func (l Limit) FitsNodes(size int64, n int) error { return l.Fits(size, n, nodeMemory) }
