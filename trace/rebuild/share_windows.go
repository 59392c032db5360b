//go:build amd64 || arm64

package rebuild

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"tracerag/trace"
)

// limits is what may keep the memory from being mapped.
const limits = ""

// A shared is the memory, on this side: a section, and our view of it.
type shared struct {
	layout        layout
	file, section windows.Handle
	at            uintptr
	view          []byte
}

// notSparse is how much the memory takes on a disk where what is never written takes room, too.
const notSparse = 256 << 20

// room is how much the memory may take. On a full disk, writing to it would kill the program.
func room() uint64 {
	var free uint64
	dir, err := windows.UTF16PtrFromString(os.TempDir())
	if err != nil || windows.GetDiskFreeSpaceEx(dir, &free, nil, nil) != nil {
		return ^uint64(0)
	}
	return free / 2
}

// share makes the memory: a section of a file, which is removed with the last of its handles. A section without a file would
// have to have all of its memory from the beginning.
func share(l layout) (*shared, error) {
	removeLeft()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("%s%d-%x", fileName, os.Getpid(), rand.Uint64()))
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	// Nobody else may open it.
	s := &shared{layout: l}
	if s.file, err = windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.CREATE_NEW,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0); err != nil {
		return nil, &os.PathError{Op: "making", Path: path, Err: err}
	}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *shared) begin() error {
	var returned uint32
	if windows.DeviceIoControl(s.file, windows.FSCTL_SET_SPARSE, nil, 0, nil, 0, &returned, nil) != nil {
		s.layout = s.layout.within(notSparse)
	}
	size := s.layout.size()
	var err error
	if s.section, err = windows.CreateFileMapping(s.file, nil, windows.PAGE_READWRITE, uint32(size>>32), uint32(size), nil); err != nil {
		return os.NewSyscallError("CreateFileMapping", err)
	}
	// The program that is given the section inherits this handle.
	if err := windows.SetHandleInformation(s.section, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
		return os.NewSyscallError("SetHandleInformation", err)
	}
	if s.at, err = windows.MapViewOfFile(s.section, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE, 0, 0, uintptr(size)); err != nil {
		return os.NewSyscallError("MapViewOfFile", err)
	}
	s.view = unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&s.at))), size)
	copy(s.view, s.layout.header())
	return nil
}

// fileName is what the names of the files begin with.
const fileName = "tracerag-memory-"

// removeLeft removes files of processes that were killed while their programs went on: as long as these have
// them mapped, the system removes nothing.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), fileName+"*"))
	for _, path := range left {
		_ = os.Remove(path) // one that is used stays
	}
}

// lend gives the memory to a program that is about to be started. It maps the section and closes it.
func (s *shared) lend(cmd *exec.Cmd) string {
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(s.section)}}
	return strconv.FormatUint(uint64(s.section), 10)
}

// WriteAt changes it while the program runs.
func (s *shared) WriteAt(b []byte, at int64) (int, error) {
	if at < 0 || at+int64(len(b)) > int64(len(s.view)) {
		return 0, io.ErrShortWrite
	}
	return copy(s.view[at:], b), nil
}

// ReadAt reads what the program has written.
func (s *shared) ReadAt(b []byte, at int64) (int, error) {
	n := copy(b, s.view[min(max(at, 0), int64(len(s.view))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Close removes the file, unless a program has it still.
func (s *shared) Close() error {
	if s.at != 0 {
		_ = windows.UnmapViewOfFile(s.at)
	}
	if s.section != 0 {
		_ = windows.CloseHandle(s.section)
	}
	return windows.CloseHandle(s.file)
}

// endings are exit codes by which the system says what ended a process.
var endings = map[uint32]string{
	0xC0000005: "STATUS_ACCESS_VIOLATION",
	0xC00000FD: "STATUS_STACK_OVERFLOW",
	0xC000013A: "STATUS_CONTROL_C_EXIT",
	0xC0000142: "STATUS_DLL_INIT_FAILED",
	0xC0000374: "STATUS_HEAP_CORRUPTION",
	0xC0000409: "STATUS_STACK_BUFFER_OVERRUN",
}

// exitOf is how a process has ended. killed says that its time was over: the code does not tell.
func exitOf(s *os.ProcessState, killed bool) trace.Exit {
	exit := trace.Exit{Code: s.ExitCode(), Signal: endings[uint32(s.ExitCode())]}
	if killed && exit.Code == 1 {
		exit.Signal = "TerminateProcess"
	}
	return exit
}
