package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usage is by how much directories have grown. Walking through them takes
// long, so that they are walked only when their file systems have grown by the limit, and
// now and then in case others have made room meanwhile.
type usage struct {
	roots  []string
	limit  int64
	base   int64
	filled []int64 // of each root's file system, at the start
	free   []int64
	last   time.Time
	cost   time.Duration
}

func newUsage(roots []string, limit int64) *usage {
	u := &usage{limit: limit}
	roots = slices.Clone(roots)
	slices.Sort(roots)
	for _, dir := range slices.Compact(roots) {
		if !slices.ContainsFunc(u.roots, func(r string) bool { return within(dir, r) }) {
			u.roots = append(u.roots, dir)
		}
	}
	for _, dir := range u.roots {
		filled, free := fileSystem(dir)
		u.filled, u.free = append(u.filled, filled), append(u.free, free)
	}
	u.base = u.walk()
	return u
}

// exceeded says whether more was written than may be. unlinked is the size of
// files that are open and have no name.
func (u *usage) exceeded(last bool, unlinked func() int64) bool {
	grown, full := int64(0), false
	for i, dir := range u.roots {
		filled, free := fileSystem(dir)
		grown = max(grown, filled-u.filled[i])
		full = full || free < u.free[i]/16
	}
	if full {
		return true // next to nothing is left, whoever uses it
	}
	since := time.Since(u.last)
	if !last && (grown < u.limit && since < max(2*time.Second, 20*u.cost) || since < 3*u.cost) {
		return false
	}
	n := u.walk() - u.base
	if n <= u.limit && grown >= u.limit {
		n += unlinked()
	}
	return n > u.limit
}

// walk counts the blocks of all files once, in each directory's own file system.
func (u *usage) walk() (sum int64) {
	start := time.Now()
	type file struct{ dev, ino uint64 }
	linked := map[file]bool{}
	var visit func(fd int, dev uint64)
	visit = func(fd int, dev uint64) {
		names := readNames(fd)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Dev != dev {
				continue
			}
			if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
				if linked[file{st.Dev, st.Ino}] {
					continue
				}
				linked[file{st.Dev, st.Ino}] = true
			}
			sum += st.Blocks * 512
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				// By the parent's descriptor: a tree may be deeper than a path may be long.
				if sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
					visit(sub, dev)
					unix.Close(sub)
				}
			}
		}
	}
	for _, dir := range u.roots {
		var st unix.Stat_t
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Fstat(fd, &st) == nil {
			visit(fd, st.Dev)
		}
		unix.Close(fd)
	}
	u.last, u.cost = time.Now(), time.Since(start)
	return sum
}

func readNames(fd int) (names []string) {
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return names
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func fileSystem(dir string) (filled, free int64) {
	var st unix.Statfs_t
	if unix.Statfs(strings.TrimSuffix(filepath.ToSlash(dir), "/."), &st) != nil {
		return 0, 0
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, int64(st.Bavail) * st.Bsize
}
