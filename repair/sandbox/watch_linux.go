package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watcher looks several times a second at what the command uses. The kernel limits single
// processes and files; what all of them use together it limits only by control groups,
// which few users may make.
type watcher struct {
	mechanism string
	limits    Limits
	disk      *usage
	tmpfs     []string
	available int64 // memory of the machine at the start
	looks     int
	memfds    int64
	most      int64
	pause     time.Duration
}

const (
	often  = 15 * time.Millisecond
	seldom = 50 * time.Millisecond
)

func newWatcher(b *box) *watcher {
	c := b.order.Command
	w := &watcher{mechanism: b.order.Mechanism, limits: c.Limits, pause: seldom, available: available()}
	if w.mechanism == namespaces {
		w.tmpfs = []string{"/dev/shm", "/var/tmp"}
		if c.Temp == "" {
			w.tmpfs = append(w.tmpfs, "/tmp")
		}
	}
	if c.Limits.Disk > 0 {
		roots := c.Write
		if c.Temp != "" {
			roots = append(roots[:len(roots):len(roots)], c.Temp)
		}
		if w.mechanism == namespaces && c.Temp != "" {
			roots[len(roots)-1] = "/tmp"
		}
		for _, fd := range b.uppers {
			roots = append(roots[:len(roots):len(roots)], "/proc/self/fd/"+strconv.Itoa(fd)+"/.")
		}
		w.disk = newUsage(roots, c.Limits.Disk)
	}
	return w
}

// look returns the limit that is exceeded, if one is. At the end files that
// are in the way of a decision during the run are counted in any case.
func (w *watcher) look(last bool) Reason {
	w.looks++
	list := processes(w.mechanism)
	if n := w.limits.Processes; n > 0 && len(list) > n {
		return Processes
	}
	used := w.memory(list)
	w.most = max(w.most, used)
	limit := w.limits.Memory
	if limit > 0 && used > limit {
		return Memory
	}
	if now := available(); limit > 0 && now > 0 && now < w.available/16 {
		return Memory // of this machine next to nothing is left, whoever uses it
	}
	if w.disk != nil && w.disk.exceeded(last, func() int64 { return deleted(list) }) {
		return Disk
	}
	w.pause = seldom
	if limit > 0 && used > limit/4 || w.limits.Processes > 0 && len(list) > w.limits.Processes/2 {
		w.pause = often
	}
	return ""
}

// memory is what processes use together, and what is in file systems in memory.
func (w *watcher) memory(list []process) int64 {
	var anon, shared int64
	for _, p := range list {
		anon += p.anon
		shared += p.shmem
	}
	if w.looks%8 == 0 {
		w.memfds = memfds(list)
	}
	files := w.memfds
	for _, dir := range w.tmpfs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC {
			files += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	// What is mapped of a file in memory is in both sums.
	used := anon + max(shared, files)
	if w.limits.Memory > 0 && used > w.limits.Memory {
		// Pages that processes share were counted for each. The exact sum costs more.
		anon, shared = 0, 0
		for _, p := range list {
			a, s := p.proportional()
			anon += a
			shared += s
		}
		used = anon + max(shared, files)
	}
	return used
}

// available is the memory that this machine has left; 0 where that is not known.
func available() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	return kilobytes(text, "MemAvailable:")
}

// kilobytes is a line's number in a file of /proc.
func kilobytes(text []byte, name string) int64 {
	_, rest, ok := bytes.Cut(text, []byte("\n"+name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(string(line), "kB")), 10, 64)
	return n << 10
}

// process is one of the sandbox's.
type process struct {
	pid, parent int
	anon, shmem int64
}

// processes lists what runs in this sandbox, but for this process: in a namespace all that
// there are; otherwise what descends from this process, to which orphans go.
func processes(mechanism string) []process {
	self := os.Getpid()
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil || bytes.Contains(text, []byte("\nState:\tZ")) || bytes.Contains(text, []byte("\nState:\tX")) {
			continue
		}
		p := process{pid: pid, parent: int(kilobytes(text, "PPid:") >> 10)}
		p.anon = kilobytes(text, "RssAnon:") + kilobytes(text, "VmSwap:")
		p.shmem = kilobytes(text, "RssShmem:")
		list = append(list, p)
	}
	if mechanism == namespaces {
		return list
	}
	return descendants(list, self)
}

func descendants(list []process, root int) []process {
	children := map[int][]process{}
	for _, p := range list {
		children[p.parent] = append(children[p.parent], p)
	}
	out := children[root]
	for i := 0; i < len(out); i++ {
		out = append(out[:len(out):len(out)], children[out[i].pid]...)
	}
	return out
}

// proportional is what a process uses, with its share of what it shares.
func (p process) proportional() (anon, shmem int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps_rollup")
	if err != nil || len(text) == 0 {
		return p.anon, p.shmem
	}
	return kilobytes(text, "Pss_Anon:") + kilobytes(text, "SwapPss:"), kilobytes(text, "Pss_Shmem:")
}

// memfds is the size of files in memory that have no name. deleted is that of files on
// disk that lost theirs.
func memfds(list []process) int64  { return unnamed(list, "/memfd:") }
func deleted(list []process) int64 { return unnamed(list, "") }

func unnamed(list []process, prefix string) (sum int64) {
	type file struct{ dev, ino uint64 }
	seen := map[file]bool{}
	for _, p := range list {
		dir := "/proc/" + strconv.Itoa(p.pid) + "/fd"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			to, err := os.Readlink(path)
			if err != nil || !strings.HasSuffix(to, " (deleted)") || strings.HasPrefix(to, "/memfd:") != (prefix != "") {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 0 || seen[file{st.Dev, st.Ino}] {
				continue
			}
			seen[file{st.Dev, st.Ino}] = true
			sum += st.Blocks * 512
		}
	}
	return sum
}
