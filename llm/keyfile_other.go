//go:build !unix

package llm

import (
	"io/fs"
	"os"
)

// checkPrivate has nothing to go by: the mode bits do not tell who may read a
// file here, and a home directory is private by default.
func checkPrivate(string, fs.FileMode) error { return nil }

func openKeyFile(path string) (*os.File, error) { return os.Open(path) }
