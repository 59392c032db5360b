package code

import (
	"io/fs"
	"strings"
	"time"
)

// dirEntry is what a directory says of a name in it.
type dirEntry struct {
	name string
	kind fs.FileMode // its type bits
	// Of regular Go files:
	size int64
	time time.Time
	err  error // why these are not known
}

func (e *dirEntry) isGo() bool { return strings.HasSuffix(e.name, ".go") }
