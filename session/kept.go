package session

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/atomicfile"
)

// keptBytes is how much is kept in the directory of a [Session], the latest used files.
const keptBytes = 64 << 20

// mostKept bounds the size of one file.
const mostKept = 16 << 20

// kept keeps files in a directory that only the user may write. What another build of
// tracerag has kept is not used: it may count otherwise.
type kept struct{ dir string }

// build tells this build of tracerag from others.
var build = sync.OnceValue(func() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(self)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x-%x-", info.Size(), info.ModTime().UnixNano())
})

func (k kept) path(name string) string { return filepath.Join(k.dir, build()+name) }

// Load returns a file's content, nil if there is none that is ours alone.
func (k kept) Load(name string) []byte {
	path := k.path(name)
	if dir, err := os.Stat(k.dir); build() == "" || err != nil || !private(dir) {
		return nil
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || !private(info) || info.Size() > mostKept {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostKept))
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it was used
	return data
}

// Save keeps a file. It does not matter if it cannot: then it is made again.
func (k kept) Save(name string, data []byte) {
	if build() == "" || len(data) > mostKept || os.MkdirAll(k.dir, 0o700) != nil {
		return
	}
	if dir, err := os.Stat(k.dir); err != nil || !private(dir) {
		return
	}
	if atomicfile.Save(k.path(name), data) == nil {
		k.prune()
	}
}

// prune removes the files that were not used for the longest time.
func (k kept) prune() {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".words") {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	size := int64(0)
	for _, info := range all {
		if size += info.Size(); size > keptBytes {
			_ = os.Remove(filepath.Join(k.dir, info.Name()))
		}
	}
}

// WordCache is the directory of a [Session] in the user's cache directory; "" where the
// user has none.
func WordCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tracerag", "words")
}
