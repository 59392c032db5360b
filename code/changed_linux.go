package code

import (
	"io/fs"
	"syscall"
	"time"
)

// Changed returns when a file was last written, given another name or otherwise changed: no
// program can set that time back, as tar, rsync and touch set the time of the last write.
func Changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return later(info.ModTime(), time.Unix(st.Ctim.Unix()))
	}
	return info.ModTime()
}

// later is the later of two times: that of the last write may lie in the future.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
