package ptrace

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memoryName is what /proc/PID/maps calls shared memory, after "/memfd:".
const memoryName = "tracerag"

// Share makes memory that the process has at addr and we have in mem: what one
// side writes the other reads. It is filled with zeros, takes room only where
// something was written, and outlives the process here. addr and size are whole
// pages; file is the memory as a file, in which SEEK_DATA finds what was written.
// The caller unmaps mem and closes file. A program that locks its memory only
// after this (mlockall) makes all of it resident: size is what that may cost.
//
// ErrMemory says that this size is refused, and the process is as it was: try
// again with a smaller one. errTaken says that something is at addr.
func (p *Process) Share(size, addr uint64) (mem []byte, file *os.File, err error) {
	if err := checkFileLimit(size); err != nil {
		return nil, nil, fmt.Errorf("process %d: %w", p.pid, err)
	}
	err = p.do(func() error {
		mem, file, err = p.share(size, addr)
		errno, ok := errors.AsType[refused](err)
		switch {
		case !ok:
			return err
		case errno.Errno == unix.EPERM || errno.Errno == unix.ENOSYS || errno.Errno == unix.EACCES:
			return fmt.Errorf("%w: %w\na seccomp filter or a security module forbids it", ErrMemory, err)
		case errno.Errno == unix.EMFILE || errno.Errno == unix.ENFILE:
			return fmt.Errorf("%w: %w\nit takes one more file for a moment: raise ulimit -n", ErrMemory, err)
		}
		return refusedSize(size, err)
	})
	return mem, file, err
}

func refusedSize(size uint64, err error) error {
	return fmt.Errorf("%w: %d bytes: %w\nulimit -v must allow for them, in a program that locks its memory also ulimit -l; they take room only as they are used", ErrMemory, size, err)
}

// checkFileLimit keeps to the limit of files' sizes. Whoever exceeds it gets a
// signal, which would be us.
func checkFileLimit(size uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && size > limit.Cur {
		return fmt.Errorf("%w: %d bytes, the limit for files is %d: raise ulimit -f", ErrMemory, size, limit.Cur)
	}
	return nil
}

func (p *Process) share(size, addr uint64) (mem []byte, file *os.File, err error) {
	// The process makes the file: it could not open one of ours without a
	// path to it that it may follow.
	fd, err := p.createFile()
	if err != nil {
		return nil, nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer func() {
		if _, e := p.syscall(unix.SYS_CLOSE, fd); e != nil {
			err = errors.Join(err, fmt.Errorf("closing the file of shared memory: %w", e))
		}
	}()
	file, err = p.takeFile(int(fd))
	if err != nil {
		return nil, nil, fmt.Errorf("opening the file of shared memory: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
			file = nil
		}
	}()
	if err := unix.Ftruncate(int(file.Fd()), int64(size)); err != nil {
		return nil, nil, refusedSize(size, err)
	}
	if err := p.mapShared(addr, size, fd); err != nil {
		return nil, nil, err
	}
	// A core dump would hold all of it, the untouched part as zeros. If the
	// kernel does not want to know, so be it.
	_, err = p.syscall(unix.SYS_MADVISE, uintptr(addr), uintptr(size), unix.MADV_DONTDUMP)
	if _, ok := errors.AsType[refused](err); err == nil || ok {
		if mem, err = unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE); err == nil {
			return mem, file, nil
		}
		err = refusedSize(size, err)
	}
	if _, e := p.syscall(unix.SYS_MUNMAP, uintptr(addr), uintptr(size)); e != nil {
		err = errors.Join(err, e)
	}
	return nil, nil, err
}

// mapShared has the process map the file. In a process that locks its memory
// (mlockall) what is mapped becomes resident at once, if it is accessible; so at
// first it is not, and then it is exempted.
func (p *Process) mapShared(addr, size uint64, fd uintptr) error {
	const flags = unix.MAP_SHARED | unix.MAP_NORESERVE
	locked, err := locksMemory(p.pid)
	if err != nil {
		return err
	}
	if !locked {
		return p.mapAt(addr, size, unix.PROT_READ|unix.PROT_WRITE, flags, fd)
	}
	if err := p.mapAt(addr, size, unix.PROT_NONE, flags, fd); err != nil {
		return err
	}
	_, err = p.syscall(unix.SYS_MUNLOCK, uintptr(addr), uintptr(size))
	if err == nil {
		_, err = p.syscall(unix.SYS_MPROTECT, uintptr(addr), uintptr(size), unix.PROT_READ|unix.PROT_WRITE)
	}
	if err != nil {
		_, e := p.syscall(unix.SYS_MUNMAP, uintptr(addr), uintptr(size))
		return errors.Join(err, e)
	}
	return nil
}

// locksMemory reports whether a process has memory that is locked.
func locksMemory(pid int) (bool, error) {
	status, err := Status(pid)
	locked := status["VmLck"]
	return locked != "" && locked != "0 kB", err
}

// MakePrivate makes a part of memory that Share has mapped, whole pages, the process's own:
// filled with zeros, not seen here, and copied when the process forks. In a process that
// locks its memory it would be resident at once, and stays as it is.
func (p *Process) MakePrivate(addr, size uint64) error {
	return p.do(func() error {
		if locked, err := locksMemory(p.pid); err != nil || locked {
			return err
		}
		const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED
		_, err := p.syscall(unix.SYS_MMAP, uintptr(addr), uintptr(size), unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0), 0)
		if err == nil {
			_, err = p.syscall(unix.SYS_MADVISE, uintptr(addr), uintptr(size), unix.MADV_DONTDUMP)
			if _, ok := errors.AsType[refused](err); ok {
				return nil
			}
			return err
		}
		if _, ok := errors.AsType[refused](err); ok {
			return refusedSize(size, err)
		}
		return err
	})
}

// createFile has the process create the file.
func (p *Process) createFile() (fd uintptr, err error) {
	err = p.withText(append([]byte(memoryName), 0), func(text []byte, addr uintptr) error {
		// Some systems insist that the file be declared as not executable; kernels
		// before 6.3 do not know how.
		fd, err = p.syscallOn(text, unix.SYS_MEMFD_CREATE, addr, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
		if errno, ok := errors.AsType[refused](err); ok && errno.Errno == unix.EINVAL {
			fd, err = p.syscallOn(text, unix.SYS_MEMFD_CREATE, addr, unix.MFD_CLOEXEC)
		}
		return err
	})
	return fd, err
}

// withText has a text at an address in the process while f makes system calls that read
// it: in the refuge, if the process has one, by handing it to syscallOn, and else over
// the thread's stack.
func (p *Process) withText(text []byte, f func(text []byte, addr uintptr) error) (err error) {
	t, err := p.callerThread()
	if err != nil {
		return err
	}
	if t.seized {
		if err := p.findRefuge(); err != nil {
			return err
		}
		if p.refuge.addr != 0 {
			return f(text, uintptr(p.refuge.text()))
		}
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return err
	}
	own := make([]byte, len(text))
	if _, err := p.readAt(own, regs.Rsp); err != nil {
		return err
	}
	if _, err := p.writeAt(text, regs.Rsp); err != nil {
		return err
	}
	defer func() {
		if _, e := p.writeAt(own, regs.Rsp); err == nil {
			err = e
		}
	}()
	return f(nil, uintptr(regs.Rsp))
}

// takeFile opens a file here that the process has open.
func (p *Process) takeFile(fd int) (*os.File, error) {
	name := fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		return file, nil
	}
	// A security module may forbid to follow the link, but not this.
	pidfd, e := unix.PidfdOpen(p.pid, 0)
	if e != nil {
		return nil, err
	}
	defer unix.Close(pidfd)
	n, e := unix.PidfdGetfd(pidfd, fd, 0)
	if e != nil {
		return nil, err
	}
	return os.NewFile(uintptr(n), name), nil
}
