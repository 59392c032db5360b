package memory

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine returns the memory that this process may have, in bytes: the machine's,
// or what its control group leaves of it. 0: not known.
func Machine() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(max(1, info.Unit))
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return total
	}
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path, without controllers in version 2
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, dir, _ := strings.Cut(rest, ":")
		root, file := "/sys/fs/cgroup", "memory.max"
		if controllers == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		for ; ; dir = path.Dir(dir) { // a limit holds for all groups below
			if text, err := os.ReadFile(path.Join(root, dir, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					total = min(total, n)
				}
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return total
}
