package ptrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filteredRole has the kernel answer a system call in one thread of this program, or in all,
// and goes on as signalsRole.
func filteredRole(args []string) error {
	runtime.LockOSThread()
	nr, err := strconv.ParseUint(args[0], 0, 32)
	if err != nil {
		return err
	}
	action, err := strconv.ParseUint(args[1], 0, 32)
	if err != nil {
		return err
	}
	flags := 0
	if args[2] == "all threads" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	if err := answer(uint32(nr), uint32(action), flags); err != nil {
		return err
	}
	return signalsRole(nil)
}

// answer has the kernel answer a system call.
func answer(nr, action uint32, flags int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), uintptr(unsafe.Pointer(&filter))); errno != 0 {
		return errno
	}
	return nil
}

// TestAttachFiltered attaches to processes that would be killed for the system calls
// that we have them make. They live on, whether these calls can be made or not.
func TestAttachFiltered(t *testing.T) {
	for _, which := range []string{"one thread", "all threads"} {
		for _, nr := range []int{unix.SYS_MEMFD_CREATE, unix.SYS_MUNMAP} {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, system call %d, keeping filters %v", which, nr, keep), func(t *testing.T) {
					r := start(t, "filtered", itoa(nr), strconv.FormatUint(unix.SECCOMP_RET_KILL_PROCESS, 10), which)
					r.line(t)
					p := r.attach(t)
					p.keepFilters = keep
					mem, file, err := p.Share(1<<20, sharedAt)
					if err == nil {
						_, err = p.Syscall(unix.SYS_MUNMAP, sharedAt, 1<<20)
						if e := errors.Join(unix.Munmap(mem), file.Close()); e != nil {
							t.Error(e)
						}
					}
					switch {
					case which == "one thread" && err != nil:
						t.Errorf("there are threads without filters: %v", err)
					case which == "all threads" && keep && !errors.Is(err, ErrFiltered):
						t.Errorf("sharing memory: %v, want ErrFiltered", err)
					case which == "all threads" && !keep && err != nil && (os.Geteuid() == 0 || !errors.Is(err, ErrFiltered)):
						// Root may be in a container.
						if ours, e := Status(os.Getpid()); e != nil || !filtered(ours) {
							t.Errorf("sharing memory: %v", err)
						}
					}
					if err := p.Detach(); err != nil {
						t.Error(err)
					}
					r.end(t, "")
				})
			}
		}
	}
}
