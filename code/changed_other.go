//go:build !linux

package code

import (
	"io/fs"
	"time"
)

// Changed returns when a file was last written.
func Changed(info fs.FileInfo) time.Time { return info.ModTime() }
