package knowledge

import (
	"strings"

	"tracerag/code"
)

// File is a Go file of a repository.
type File struct {
	ID         int64
	Repository int64
	code.Entry
	PackageName string // in the package clause
	Generated   bool
	Constraint  string
	Broken      int // syntax errors
	Imports     []string
	Hash        code.Hash // of the bytes
	// Problem says why the file could not be read; "" if it was. Then it
	// has no declarations.
	Problem string
}

// Product reports whether it is a file of the program: no test, not vendored, not
// generated, not in testdata, not ignored.
func (f *File) Product() bool {
	return product(f.Class, f.Generated)
}

// ImportPath returns the import path of the file's package: that of "package x_test" ends
// in "_test".
func (f *File) ImportPath() string {
	if f.Test && strings.HasSuffix(f.PackageName, "_test") {
		return f.Package + "_test"
	}
	return f.Package
}

// Decl is a declaration of a repository.
type Decl struct {
	ID         int64
	Repository int64
	File       int64
	Module     string // path; "" outside of all
	Package    string // import path; that of "package x_test" ends in "_test"
	// PackageName is that in the package clause. What a linker names "main.F" is in "main".
	PackageName string
	Path        string // of the file, below the repository's root
	code.Class         // of the file
	Generated   bool
	code.Decl
}

// Product reports whether it is code of the program: no test, not vendored, not
// generated, not in testdata.
func (d *Decl) Product() bool {
	return product(d.Class, d.Generated)
}

func product(c code.Class, generated bool) bool {
	return !c.Test && !c.Vendored && !c.Testdata && !c.Ignored && !generated
}
