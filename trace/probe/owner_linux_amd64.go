package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tracerag/trace/probe/payload"
	"tracerag/trace/probe/ptrace"
)

// An owner is what a target's memory says of the tracerag that records it: who that is,
// and all that another one needs to undo what it did, should it be gone. What the
// program's code was its file tells.
//
// It is in the header of the shared memory from before anything else of the target
// is changed until all of that is undone.
type owner struct {
	Magic [16]byte

	Pid       uint64 // of tracerag
	Started   uint64 // when that began, since numbers are used again: field 22 of /proc/PID/stat
	Namespace uint64 // in which it has this number: the inode of /proc/PID/ns/pid

	Memory, Code, Marks ptrace.Range // what is mapped; of Code all that may be
	States              payload.States
	Writable            uint64 // 1: the program's code was made writable
}

var (
	ownerMagic = [16]byte([]byte("tracerag owner 1"))
	// leftMagic: nothing of the target's code leads here any more. The memory stays
	// because a signal's handler may return to it.
	leftMagic = [16]byte([]byte("tracerag gone  1"))
	// keptMagic: somebody else has changed the code, and may have it lead here again.
	keptMagic = [16]byte([]byte("tracerag kept  1"))
)

// ourselves is this process as an owner.
func ourselves() (o owner, err error) {
	o.Magic, o.Pid = ownerMagic, uint64(os.Getpid())
	if o.Started, _, err = processStart("self"); err == nil {
		o.Namespace, err = pidNamespace()
	}
	return o, err
}

// processStart is when a process began, in ticks since the system's start, and its
// state, such as 'S'.
func processStart(pid string) (ticks uint64, state byte, err error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, err
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const started = 22 - 3
	if len(fields) <= started {
		return 0, 0, fmt.Errorf("/proc/%s/stat: %w", pid, unix.EINVAL)
	}
	ticks, err = strconv.ParseUint(fields[started], 10, 64)
	return ticks, fields[0][0], err
}

func pidNamespace() (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat("/proc/self/ns/pid", &st)
	return st.Ino, err
}

// errElsewhere: the owner's number is one of other processes than those seen here.
var errElsewhere = errors.New("in another container")

// alive reports whether the tracerag that wrote this is there still.
func (o *owner) alive() (bool, error) {
	if ns, err := pidNamespace(); err != nil || ns != o.Namespace {
		return false, errors.Join(err, errElsewhere)
	}
	ticks, state, err := processStart(strconv.FormatUint(o.Pid, 10))
	if err != nil {
		return false, nil
	}
	return ticks == o.Started && state != 'Z' && state != 'X', nil
}

// note writes who we are and what we are about to map. The magic comes last: if we are
// killed before, none of that has happened.
func (r *running) note(o owner) {
	if r.mem == nil {
		return
	}
	b, err := binary.Append(nil, binary.LittleEndian, &o)
	if err != nil || len(b) > payload.OwnerSize {
		panic(fmt.Sprintf("probe: the owner's record: %d bytes, %v", len(b), err))
	}
	at := r.mem[payload.OwnerOff:]
	clear(at[:len(o.Magic)])
	copy(at[len(o.Magic):], b[len(o.Magic):])
	copy(at, b[:len(o.Magic)])
}

// readOwner reads what the memory mapped at base says.
func readOwner(p *ptrace.Process, base uint64) (o owner, err error) {
	b := make([]byte, binary.Size(&o))
	if n, err := p.ReadAt(b, int64(base+payload.OwnerOff)); n < len(b) {
		return o, err
	}
	_, err = binary.Decode(b, binary.LittleEndian, &o)
	return o, err
}
