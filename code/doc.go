// Package code reads the Go declarations of a repository: what is declared, where, in
// which package of which module, and under which version.
//
// # Units
//
// A unit is a repository, a module, a package, a file or a declaration. Four names say
// which declaration is meant: module path, import path, file, symbol. A name alone is not
// enough: a function may be declared once for each platform, init any number of times,
// and a package and its test package may both declare T.
//
// The version of a declaration is a hash of its tokens ([Decl.Tokens]), that of its comments a
// hash of their words ([Decl.Comments]). Formatting changes neither, so whatever is
// derived from a declaration and kept under its hashes stays valid when only the layout, or
// other parts of the file, change.
//
// # Reading
//
// [Scan] lists a directory's Go files with what their paths and times tell, and reads none
// of them but go.mod, go.work and .gitignore. [Parse] reads one file's text. It goes by syntax
// alone: nothing is type-checked, no build constraint is evaluated (a constraint is
// reported), nothing is run. A syntax error costs the declarations that it is in, not
// the file.
package code
