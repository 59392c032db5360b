package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sharedMemory opens the files behind the memory that this process shares with the
// program that it records: they outlive the recording, and tell how much of them
// was written.
func sharedMemory() []*os.File {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	var files []*os.File
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, "/memfd:") {
			if f, err := os.Open(l); err == nil {
				files = append(files, f)
			}
		}
	}
	return files
}

// blocks is how many bytes of a file have memory.
func blocks(f *os.File) int64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

// peak is the most memory that this process has had.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kB << 10
		}
	}
	return 0
}

// cpuOfChildren is the time that the processes took on all processors that this
// one has waited for.
func cpuOfChildren() time.Duration { return cpuOf(unix.RUSAGE_CHILDREN) }

// cpuOfSelf is the time that this process has taken so far, likewise.
func cpuOfSelf() time.Duration { return cpuOf(unix.RUSAGE_SELF) }

func cpuOf(whom int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(whom, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
