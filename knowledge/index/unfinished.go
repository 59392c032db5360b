package index

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tracerag/filelock"
)

// unfinished begins the names of directories in which clones are made.
const unfinished = ".clone-"

// beginClone makes a directory for a clone. end removes it. A process that is killed
// leaves it, and with it, unlike others, nobody who holds its lock.
func beginClone(below string) (dir string, end func(), err error) {
	if dir, err = os.MkdirTemp(below, unfinished+"*"); err != nil {
		return "", nil, err
	}
	unlock, _ := filelock.Try(dir)
	return dir, func() { _ = os.RemoveAll(dir); unlock() }, nil
}

// removeUnfinished removes what killed processes left of clones below a directory.
func removeUnfinished(below string) {
	_ = filepath.WalkDir(below, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil
		case !strings.HasPrefix(e.Name(), unfinished):
			if exists(filepath.Join(path, ".git")) {
				return fs.SkipDir // a clone
			}
			return nil
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > filelock.LeftAfter {
			if unlock, ok := filelock.Try(path); ok {
				_ = os.RemoveAll(path)
				unlock()
			}
		}
		return fs.SkipDir
	})
}
