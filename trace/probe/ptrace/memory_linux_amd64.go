package ptrace

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReadAt reads the process's memory at an address, as an io.ReaderAt.
func (p *Process) ReadAt(b []byte, addr int64) (n int, err error) {
	err = p.do(func() error {
		n, err = p.readAt(b, uint64(addr))
		return err
	})
	return n, err
}

// WriteAt writes to the process's memory at an address, as an io.WriterAt; also
// where the process itself may not write, such as its code. What it changes of a
// file that is mapped privately is the process's copy.
func (p *Process) WriteAt(b []byte, addr int64) (n int, err error) {
	err = p.do(func() error {
		n, err = p.writeAt(b, uint64(addr))
		return err
	})
	return n, err
}

// openMemory opens the memory's file. Without it there are slower ways.
func (p *Process) openMemory() error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.pid), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err == nil {
		p.mem = f
	}
	return nil
}

// manyPages is from which size on reading is for process_vm_readv first: the memory's file
// copies each page twice.
const manyPages = 256 << 10

func (p *Process) readAt(b []byte, addr uint64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n := 0
	if p.mem != nil && len(b) < manyPages {
		n, _ = p.mem.ReadAt(b, int64(addr))
	}
	for n < len(b) {
		here := addr + uint64(n)
		m, err := unix.ProcessVMReadv(p.pid, []unix.Iovec{iovec(b[n:])}, []unix.RemoteIovec{{Base: uintptr(here), Len: len(b) - n}}, 0)
		if err != nil || m <= 0 {
			break
		}
		n += m
	}
	if n < len(b) && p.mem != nil && len(b) >= manyPages {
		m, _ := p.mem.ReadAt(b[n:], int64(addr)+int64(n))
		n += m
	}
	if n < len(b) {
		m, err := p.peek(b[n:], addr+uint64(n))
		if n += m; err != nil {
			return n, fmt.Errorf("reading its memory at %#x: %w", addr+uint64(n), err)
		}
	}
	return n, nil
}

func (p *Process) writeAt(b []byte, addr uint64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n := 0
	if p.mem != nil {
		// A kernel may forbid this where the page is not writable, unless it
		// is the tracing thread that does it, or altogether.
		n, _ = p.mem.WriteAt(b, int64(addr))
	}
	if n < len(b) {
		m, err := p.poke(b[n:], addr+uint64(n))
		if n += m; err != nil {
			return n, fmt.Errorf("writing its memory at %#x: %w", addr+uint64(n), err)
		}
	}
	return n, nil
}

// peek and poke transfer a word at a time, about a million a second.
func (p *Process) peek(b []byte, addr uint64) (int, error) {
	if len(p.threads) == 0 {
		return 0, ErrEnded
	}
	n, err := unix.PtracePeekData(p.threads[0].tid, uintptr(addr), b)
	if err == nil && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (p *Process) poke(b []byte, addr uint64) (int, error) {
	if len(p.threads) == 0 {
		return 0, ErrEnded
	}
	n, err := unix.PtracePokeData(p.threads[0].tid, uintptr(addr), b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}

func iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}

// MapCode maps memory for code, readable and executable but not writable, at
// exactly these addresses, which are whole pages. WriteAt fills it. errTaken says
// that something is there, errCode that the system refuses.
func (p *Process) MapCode(addr, size uint64) error {
	return p.do(func() error {
		err := p.mapAt(addr, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0))
		errno, ok := errors.AsType[refused](err)
		switch {
		case !ok:
			return err
		case errno.Errno == unix.EACCES || errno.Errno == unix.EPERM:
			return fmt.Errorf("%w: %w\na security module (SELinux: execmem) or a seccomp filter forbids it", errCode, err)
		}
		return fmt.Errorf("%w: %d bytes: %w\nulimit -v and the container's memory limit must allow for them", errCode, size, err)
	})
}

// mapAt has the process map memory at exactly this address.
func (p *Process) mapAt(addr, size uint64, prot, flags int, fd uintptr) error {
	got, err := p.syscall(unix.SYS_MMAP, uintptr(addr), uintptr(size), uintptr(prot), uintptr(flags|unix.MAP_FIXED_NOREPLACE), fd, 0)
	if errno, ok := errors.AsType[refused](err); ok && errno.Errno == unix.EEXIST {
		return fmt.Errorf("%w: %#x to %#x", errTaken, addr, addr+size)
	}
	if err != nil {
		return err
	}
	if uint64(got) != addr {
		// Kernels before 4.17 take the flag for a hint, and so does gVisor.
		_, err := p.syscall(unix.SYS_MUNMAP, got, uintptr(size))
		return errors.Join(fmt.Errorf("%w: %#x to %#x", errTaken, addr, addr+size), err)
	}
	return nil
}
