package ptrace

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attr is what a program is started with.
type Attr struct {
	Dir   string      // working directory; empty: ours
	Env   []string    // nil: ours
	Files [3]*os.File // standard input, output and error; nil: closed
	// OwnGroup has the program lead a process group of its own; otherwise it is in ours.
	OwnGroup bool
}

// Start starts the program and holds it before its first instruction. Other than
// that it starts as with os.StartProcess: further descriptors that we inherited
// are passed on, signals are ignored or blocked as they are here. If we end while
// it is held, it is killed; after that it does not depend on us.
func Start(path string, argv []string, attr Attr) (*Process, error) {
	file := path
	if attr.Dir != "" {
		if _, err := os.Stat(attr.Dir); err != nil {
			return nil, fmt.Errorf("%s: its working directory: %w", path, err)
		}
		if !filepath.IsAbs(path) {
			file = filepath.Join(attr.Dir, path)
		}
	}
	if err := checkProc(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkFormat(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkPrivileges(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if attr.Env == nil {
		attr.Env = os.Environ()
	}
	p := &Process{child: true, tr: newTracer(), ended: make(chan struct{})}
	pidfd := -1 // and so it stays before Linux 5.2
	var err error
	p.tr.do(func() { p.pid, err = fork(path, argv, attr, &pidfd) })
	if err != nil {
		p.tr.end()
		return nil, startError(path, file, err)
	}
	if pidfd >= 0 {
		p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	}
	p.held.Store(true)
	if err := p.do(p.takeHold); err != nil {
		p.Abandon()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// fork starts the program on the calling thread, which becomes its tracer.
//
// Signals are masked meanwhile, and the child inherits the mask: one that
// stopped it between its request to be traced and its exec would keep it there,
// and us in the fork, for ever.
func fork(path string, argv []string, attr Attr, pidfd *int) (pid int, err error) {
	var old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{uint64(asynchronous)}}, &old); err != nil {
		return 0, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	files := make([]uintptr, len(attr.Files))
	for i, f := range attr.Files {
		if files[i] = ^uintptr(0); f != nil {
			files[i] = f.Fd()
		}
	}
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: attr.Dir, Env: attr.Env, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: attr.OwnGroup, PidFD: pidfd},
	})
}

// takeHold waits for the stop that a traced process makes when it has become the
// program.
func (p *Process) takeHold() error {
	t := &thread{tid: p.pid}
	for {
		ws, err := p.await(t.tid)
		if errors.Is(err, ErrEnded) {
			return fmt.Errorf("%w before its first instruction", err)
		}
		if err != nil {
			return err
		}
		if ws.StopSignal() == unix.SIGTRAP {
			break
		}
		p.stop = p.stop || ws.StopSignal() == unix.SIGSTOP
		if err := unix.PtraceCont(t.tid, 0); err != nil {
			return err
		}
	}
	p.threads = []*thread{t}
	if err := unix.PtraceSetOptions(t.tid, unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return err
	}
	// The mask is that of fork. What it should be is what this thread has.
	var own unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &own); err != nil {
		return err
	}
	t.mask, t.masked = signalSet(own.Val[0]), true
	return p.openMemory()
}

// checkFormat refuses what is not 64-bit x86 code: system calls have other
// numbers there and addresses another size.
func checkFormat(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [20]byte
	_, err = io.ReadFull(f, head[:])
	switch {
	case err != nil && err != io.ErrUnexpectedEOF && err != io.EOF:
		return err
	case bytes.HasPrefix(head[:], []byte("#!")):
		return fmt.Errorf("%w but a script", errFormat)
	case !bytes.HasPrefix(head[:], []byte(elf.ELFMAG)):
		return errFormat
	case head[elf.EI_CLASS] != byte(elf.ELFCLASS64) || head[elf.EI_DATA] != byte(elf.ELFDATA2LSB) || elf.Machine(head[18])|elf.Machine(head[19])<<8 != elf.EM_X86_64:
		return fmt.Errorf("%w: build it with GOARCH=amd64", errFormat)
	}
	return nil
}

// checkPrivileges refuses a program to which the kernel would give privileges,
// but not while we trace it.
func checkPrivileges(file string) error {
	status, err := Status(os.Getpid())
	if err != nil {
		return err
	}
	caps, err := strconv.ParseUint(status["CapEff"], 16, 64)
	if err != nil || caps&(1<<unix.CAP_SYS_PTRACE) != 0 || status["NoNewPrivs"] == "1" {
		return nil // we may trace anything, or it gets no privileges in any case
	}
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(file, &fs); err == nil && fs.Flags&unix.ST_NOSUID != 0 {
		return nil
	}
	var what string
	switch n, err := unix.Getxattr(file, "security.capability", nil); {
	case st.Mode&unix.S_ISUID != 0 && int(st.Uid) != os.Geteuid():
		what = "setuid"
	case st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0 && int(st.Gid) != os.Getegid():
		what = "setgid"
	case err == nil && n > 0:
		what = "it has file capabilities"
	default:
		return nil
	}
	return fmt.Errorf("%w (%s)\nrun this as root, or record a copy of the program without them if it can do without", ErrPrivileged, what)
}
