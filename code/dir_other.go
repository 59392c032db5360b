//go:build !linux

package code

import (
	"errors"
	"io/fs"
	"os"
)

// dirReader reads directories.
type dirReader struct{}

// read lists a directory. Of Go files it asks for size and time.
func (r *dirReader) read(dir string) (list []dirEntry, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	all, err := f.ReadDir(-1) // in the order of the disk: to sort them takes longer
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		e := dirEntry{name: d.Name(), kind: d.Type()}
		if e.kind == 0 && e.isGo() {
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted since
			}
			e.err = err
			if err == nil {
				e.kind, e.size, e.time = info.Mode().Type(), info.Size(), Changed(info)
			}
		}
		list = append(list, e)
	}
	return list, nil
}
