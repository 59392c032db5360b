// Package patch changes Go files by whole declarations.
//
// A change is a list of edits, each a file's name and Go text with whole
// declarations. They are put in place by the byte ranges of the syntax tree: every
// byte outside of the declarations stays as it was. What is gone, ambiguous or does
// not parse is refused by name; nothing is guessed.
package patch

import (
	"slices"
	"strings"
)

// Patch is a change of files of one tree, whole before and after.
type Patch struct {
	Files []File // ascending names
}

// Of returns the patch of some files.
func Of(files ...File) *Patch {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return &Patch{Files: sorted}
}

// File is a file that a Patch changes.
type File struct {
	Name   string // slash path in the tree
	Before []byte // nil: a new file
	After  []byte // nil: a removed file
}
