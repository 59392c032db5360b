package ptrace

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A keeper is a process that lets programs start once we do not answer any more: when we
// have ended or were killed, and what we followed goes on. It has the listener from the
// beginning, and does nothing as long as we live. Notices that we have taken and not
// answered are in memory that it shares.

// The keeper's files.
const (
	keeperListener = 3 + iota
	keeperNotices
	keeperAlive // ends when we do
)

// mostKeepers bounds how often one is started: each that ends before us was killed, or is no
// keeper.
const mostKeepers = 100

// keep starts a keeper, and another one whenever that ends before us.
func (x *Execs) keep() error {
	if len(x.follow.Keeper) == 0 {
		return errors.New("no keeper is given")
	}
	var err error
	if x.alive, x.ends, err = pipe(); err != nil {
		return err
	}
	keeper, err := x.startKeeper()
	if err != nil {
		return err
	}
	go func() {
		for range mostKeepers {
			_ = keeper.Wait()
			x.mu.Lock()
			if !x.closed {
				keeper, err = x.startKeeper()
			}
			end := x.closed || err != nil
			x.mu.Unlock()
			if end {
				return
			}
		}
	}()
	return nil
}

// pipe returns what is to be closed for the other to end.
func pipe() (write, read *os.File, err error) {
	read, write, err = os.Pipe()
	return write, read, err
}

func (x *Execs) startKeeper() (*exec.Cmd, error) {
	cmd := exec.Command(x.follow.Keeper[0], x.follow.Keeper[1:]...)
	cmd.ExtraFiles = []*os.File{x.listener, x.notices.file, x.ends}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no signal of a terminal
	return cmd, cmd.Start()
}

// Keep is what a keeper does, to its end: when nobody is followed any more.
func Keep() error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT)
	wait := []unix.PollFd{{Fd: keeperListener}, {Fd: keeperAlive, Events: unix.POLLIN}}
	for wait[1].Revents == 0 {
		if _, err := unix.Poll(wait, -1); err != nil && err != unix.EINTR {
			return err
		}
		if wait[0].Revents&(unix.POLLHUP|unix.POLLNVAL) != 0 {
			return nil
		}
	}
	taken, err := openNotices(os.NewFile(keeperNotices, "notices"))
	if err != nil {
		return err
	}
	for i := range taken.list {
		if id := taken.list[i].id; id != 0 {
			allow(keeperListener, id)
		}
	}
	for {
		listener := []unix.PollFd{{Fd: keeperListener, Events: unix.POLLIN}}
		if _, err := unix.Poll(listener, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if listener[0].Revents&unix.POLLIN == 0 {
			return nil
		}
		var n notice
		switch err := control(keeperListener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err {
		case nil:
			allow(keeperListener, n.id)
		case unix.EINTR, unix.ENOENT:
		default:
			return err
		}
	}
}

// allow has the thread of a notice go on with its call. It does nothing if that was killed.
func allow(listener int, id uint64) {
	a := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	for control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) == unix.EINTR {
	}
}

// notice is the kernel's struct seccomp_notif.
type notice struct {
	id   uint64
	pid  uint32 // of the thread
	_    uint32
	nr   int32
	arch uint32
	_    uint64 // instruction pointer
	args [6]uint64
}

// response is its struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// notices are those that the kernel has given us, in memory that a keeper shares: zero but
// for those that are not answered.
type notices struct {
	file *os.File
	mem  []byte
	list []notice
	free chan *notice
}

const manyNotices = 256

func newNotices() (*notices, error) {
	fd, err := unix.MemfdCreate("tracerag-notices", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "notices")
	if err = file.Truncate(manyNotices * int64(unsafe.Sizeof(notice{}))); err == nil {
		var n *notices
		if n, err = openNotices(file); err == nil {
			n.free = make(chan *notice, manyNotices)
			for i := range n.list {
				n.free <- &n.list[i]
			}
			return n, nil
		}
	}
	file.Close()
	return nil, err
}

func openNotices(file *os.File) (*notices, error) {
	mem, err := unix.Mmap(int(file.Fd()), 0, manyNotices*int(unsafe.Sizeof(notice{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &notices{file: file, mem: mem, list: unsafe.Slice((*notice)(unsafe.Pointer(&mem[0])), manyNotices)}, nil
}

// take returns room for a notice. It waits if too many are not answered.
func (n *notices) take() *notice { return <-n.free }

func (n *notices) give(one *notice) {
	*one = notice{}
	n.free <- one
}

func (n *notices) close() {
	_ = unix.Munmap(n.mem)
	n.file.Close()
}
