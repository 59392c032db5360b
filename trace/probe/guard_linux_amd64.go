package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The recorder's memory is reserved in a size that no machine has, and taken as it is
// used. So that it is never taken from the target, or from others, somebody has to look:
// when the recorder has a third of what it could have in all, no more nodes are made.
// The other two are for the target, and for turning the tree into a trace. Where that is
// little, as in a small control group, it would be used up before anybody has looked, so
// there is no room for more from the start.

const (
	guardShare = 3                      // of what can be had in all, one part is the recorder's
	guardEvery = 100 * time.Millisecond // a program makes some 20 MB of nodes meanwhile
	guardFrom  = 4 << 20                // bytes up to which nobody looks
)

// reservable is how much the tables may take by their size, where so much is available.
// Of much, all: most of what is reserved is never used (a node with 13 cells takes half of
// what they would), and guard looks in time. It does not look if we are killed.
func reservable(available uint64) uint64 {
	const little = 4 << 30
	if available < little {
		available /= guardShare
	}
	return max(min(available, math.MaxInt64), 1)
}

// guard looks after the memory until stop is called.
func (r *running) guard() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	pid := r.proc.Pid()
	go func() {
		defer close(ended)
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if used := r.used(); used > guardFrom && used > available(pid)/(guardShare-1) {
				r.layout.Stop(r.mem)
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// used is how many bytes of the shared memory take room. Shadow stacks, which are not
// shared, are missing in what is available.
func (r *running) used() uint64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(r.file.Fd()), &st); err != nil {
		return 0
	}
	return uint64(st.Blocks) * 512
}

// available is how many bytes a process may still take: of the machine's memory, of what
// may be promised where the kernel promises no more than it has (vm.overcommit_memory is
// 2), and in each of its control groups.
func available(pid int) uint64 {
	info, err := fields("/proc/meminfo")
	if err != nil {
		return math.MaxUint64
	}
	least := info["MemAvailable"]
	if overcommit() == "2" {
		least = min(least, info["CommitLimit"]-min(info["CommitLimit"], info["Committed_AS"]))
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, at, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "":
			least = min(least, inGroups("/sys/fs/cgroup", at, "memory.max", "memory.current", "inactive_file"))
		case strings.Contains(","+controllers+",", ",memory,"):
			least = min(least, inGroups("/sys/fs/cgroup/memory", at, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"))
		}
	}
	return least
}

// overcommit is the kernel's vm.overcommit_memory.
func overcommit() string {
	mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(mode))
}

// inGroups is the least of what is left in a control group and those above it. What the
// kernel can take back at once, of files that were read, is left.
func inGroups(root, at, limit, usage, cached string) uint64 {
	least := uint64(math.MaxUint64)
	for at = filepath.Clean("/" + at); ; at = filepath.Dir(at) {
		dir := root + at
		if most, ok := number(dir + "/" + limit); ok {
			used, _ := number(dir + "/" + usage)
			stat, _ := fields(dir + "/memory.stat")
			used -= min(used, stat[cached])
			least = min(least, most-min(most, used))
		}
		if at == "/" {
			return least
		}
	}
}

// number reads a file that holds one number.
func number(file string) (uint64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil
}

// fields reads a file with a name and a number in each line, in bytes.
func fields(file string) (map[string]uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 2 {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		if len(f) > 2 && f[2] == "kB" {
			n *= 1024
		}
		out[strings.TrimSuffix(f[0], ":")] = n
	}
	return out, nil
}
