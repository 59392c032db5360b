package bench

import (
	"debug/elf"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tracerag/trace/executable"
)

// watch has the kernel count the calls of a function by a breakpoint of its own, a
// uprobe, in every process that runs the program, until stop is called. It skips
// the test where the kernel does not want to.
func watch(t testing.TB, path, function string) (stop func()) {
	t.Helper()
	kind, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		t.Skipf("not here: the kernel has no uprobes: %v", err)
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(kind)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := unix.BytePtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: uint32(number), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Ext1: uint64(uintptr(unsafe.Pointer(file))), Ext2: offset(t, path, function)}
	var events []int
	stop = func() {
		for _, fd := range events {
			unix.Close(fd)
		}
	}
	for cpu := range runtime.NumCPU() {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		runtime.KeepAlive(file)
		if err != nil {
			stop()
			t.Skipf("not here: perf_event_open of a uprobe: %v", err)
		}
		events = append(events, fd)
	}
	return stop
}

// offset is where a function begins in its file.
func offset(t testing.TB, path, function string) uint64 {
	t.Helper()
	f, err := executable.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, fn := range f.Funcs {
		if fn.Name != function {
			continue
		}
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= fn.Entry && fn.Entry < p.Vaddr+p.Filesz {
				return fn.Entry - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no %s", path, function)
	return 0
}
