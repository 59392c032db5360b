//go:build !unix

package llm

import "io/fs"

// checkPrivate has nothing to go by: the mode bits do not tell who may read a
// file here, and a home directory is private by default.
func checkPrivate(string, fs.FileMode) error { return nil }
