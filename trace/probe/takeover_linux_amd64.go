package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/payload"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// Whoever kills tracerag leaves a target behind whose code leads to the recorder. It goes
// on, for the recorder is all in its memory. When it is attached to again all of that is
// undone first, as the one that was killed would have done, from what that has written
// down (see owner) and from the program's file.

// memoryName is what shared memory of ours is called in /proc/PID/maps.
const memoryName = "/memfd:tracerag"

// takeOver undoes what a tracerag that is gone did to a process that is held. It returns
// what that was, "" for nothing. It is an error if it is not gone; errors say of the
// process what they say.
func (r *running) takeOver(t *target.Target, p *prepared) (string, error) {
	maps, err := r.proc.Maps()
	if err != nil {
		return "", err
	}
	var owners []owner
	var others []ptrace.Mapping // memory of ours of which nobody says what it is
	for _, m := range maps {
		if !strings.HasPrefix(m.Path, memoryName) || m.Offset != 0 {
			continue
		}
		if m.End-m.Start <= payload.OwnerOff+payload.OwnerSize {
			others = append(others, m)
			continue
		}
		o, err := readOwner(r.proc, m.Start)
		switch {
		case err != nil:
			return "", err
		case o.Magic == keptMagic:
		case o.Magic == leftMagic:
			// Perhaps nothing returns there any more.
			if err := r.leave(o.mapped(maps)); err != nil {
				return "", fmt.Errorf("was recorded before, and parts of that recording remain: %w", err)
			}
		case o.Magic == ownerMagic && o.Memory.Start == m.Start && m.End <= o.Memory.End:
			owners = append(owners, o)
		default:
			others = append(others, m)
		}
	}
	var done []string
	for i := range owners {
		o := &owners[i]
		alive, err := o.alive()
		if alive {
			return "", fmt.Errorf("is already recorded by tracerag %d: end that first", o.Pid)
		}
		if errors.Is(err, errElsewhere) {
			return "", fmt.Errorf("is already recorded by tracerag, process %d %w: end that first; if it is gone, restart the program", o.Pid, errElsewhere)
		}
		if err != nil {
			return "", err
		}
		what, err := r.undo(t, p, o, maps)
		if err != nil {
			return "", fmt.Errorf("was recorded by tracerag %d, which was killed, and its changes cannot be undone: %w", o.Pid, err)
		}
		done = append(done, what)
	}
	for _, m := range others {
		if slices.ContainsFunc(owners, func(o owner) bool { return o.Marks.Start <= m.Start && m.End <= o.Marks.End }) {
			continue
		}
		// Where nothing was written nothing was changed. Otherwise an older version
		// made it, which is no matter if the program's code is its own.
		head := make([]byte, payload.OwnerOff)
		if n, err := r.proc.ReadAt(head, int64(m.Start)); n < len(head) || len(bytes.Trim(head, "\x00")) > 0 {
			_ = err
			continue
		}
		if err := r.unmap(ptrace.Range{Start: m.Start, End: m.End}); err != nil {
			return "", err
		}
		done = append(done, "memory that it did not use was given back")
	}
	if err := r.closeFiles(); err != nil {
		return "", err
	}
	return strings.Join(done, "; "), nil
}

// undo puts a process that is held back into the state that it was in before an owner
// that is gone changed it.
func (r *running) undo(t *target.Target, p *prepared, o *owner, maps []ptrace.Mapping) (string, error) {
	patches, foreign, err := r.changed(t, p, o)
	if err != nil {
		return "", err
	}
	if err := r.write(patches); err != nil {
		return "", err
	}
	if o.Writable != 0 {
		if err := r.seal(t, p, maps); err != nil {
			return "", err
		}
	}
	what := fmt.Sprintf("tracerag %d, which recorded it, is gone: %d places in its code were put back", o.Pid, len(patches))
	if foreign {
		// Who changed the code besides may have kept a copy of what we had put there,
		// and put that back some day.
		return what, r.mark(o, keptMagic)
	}
	return what, r.leave(o.mapped(maps))
}

// mapped is an owner with only what is certainly its recorder's: that may have been
// killed before it had mapped all that it was about to.
func (o *owner) mapped(maps []ptrace.Mapping) *owner {
	there := *o
	there.Code, there.Marks = ptrace.Range{}, ptrace.Range{}
	for _, m := range maps {
		within := func(r ptrace.Range) bool { return r.Start <= m.Start && m.End <= r.End }
		switch {
		case m.Start == o.Code.Start && within(o.Code) && m.Path == "" && m.Perms == "r-xp":
			there.Code = ptrace.Range{Start: m.Start, End: m.End}
		case within(o.Marks) && strings.HasPrefix(m.Path, memoryName):
			there.Marks = ptrace.Range{Start: m.Start, End: m.End}
		}
	}
	return &there
}

// changed finds the places at which the program's code leads to the recorder's. Foreign
// is set if there are also differences from the file that are not our making.
func (r *running) changed(t *target.Target, p *prepared, o *owner) (patches []stubs.Patch, foreign bool, err error) {
	slide, err := r.slide(p)
	if err != nil {
		return nil, false, err
	}
	from := t.Binary.TextStart
	size := t.Binary.Funcs[len(t.Binary.Funcs)-1].End - from
	code := p.code()
	if code == nil {
		return nil, false, fmt.Errorf("%s: its file cannot be read any more", t.Path)
	}
	own := code.Bytes(from, size)
	if own == nil {
		return nil, false, fmt.Errorf("%s: the file does not have its code in one piece", t.Path)
	}
	now := make([]byte, size)
	if n, err := r.proc.ReadAt(now, int64(from+slide)); n < len(now) {
		return nil, false, fmt.Errorf("reading its code: %w", err)
	}
	const page = 4096
	for at := 0; at < len(now); {
		if at%page == 0 && bytes.Equal(now[at:min(at+page, len(now))], own[at:min(at+page, len(now))]) {
			at += page
			continue
		}
		if now[at] == own[at] {
			at++
			continue
		}
		start, end, ok := branchAround(now, at, from+slide, o.Code)
		if !ok {
			foreign = true
			at++
			continue
		}
		patches = append(patches, stubs.NewPatch(from+slide+uint64(start), now[start:end], own[start:end]))
		at = end
	}
	return patches, foreign, nil
}

// branchAround finds the direct jump or call that has the byte at an offset of code and
// leads into a range. It returns where its changed part is, which is not its opcode if
// that is the program's own.
func branchAround(code []byte, at int, base uint64, to ptrace.Range) (start, end int, ok bool) {
	for start = at; start >= 0 && start > at-6; start-- {
		rel := start + 1
		switch c := code[start]; {
		case c == 0xe8 || c == 0xe9:
		case c == 0x0f && start+1 < len(code) && code[start+1]&0xf0 == 0x80:
			rel++
		default:
			continue
		}
		end = rel + 4
		if end > len(code) || end <= at {
			continue
		}
		target := base + uint64(end) + uint64(int64(int32(binary.LittleEndian.Uint32(code[rel:]))))
		if target >= to.Start && target < to.End {
			return start, end, true
		}
	}
	return 0, 0, false
}

// seal takes away the program's right to write its code, which unseal gave it.
func (r *running) seal(t *target.Target, p *prepared, maps []ptrace.Mapping) error {
	slide, err := r.slide(p)
	if err != nil {
		return err
	}
	first := t.Binary.TextStart + slide
	i := slices.IndexFunc(maps, func(m ptrace.Mapping) bool { return m.Start <= first && first < m.End })
	if i < 0 || maps[i].Perms != "rwxp" {
		return nil
	}
	_, err = r.proc.Syscall(unix.SYS_MPROTECT, uintptr(maps[i].Start), uintptr(maps[i].End-maps[i].Start), unix.PROT_READ|unix.PROT_EXEC)
	return err
}

// mark replaces the magic of an owner's record.
func (r *running) mark(o *owner, magic [16]byte) error {
	_, err := r.proc.WriteAt(magic[:], int64(o.Memory.Start+payload.OwnerOff))
	return err
}

// word reads a word of the process, 0 where there is none.
func (r *running) word(addr uint64) uint64 {
	var b [8]byte
	if n, _ := r.proc.ReadAt(b[:], int64(addr)); n < len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// closeFiles closes what the process has open of shared memory, which it has for a
// moment only, while it is mapped.
func (r *running) closeFiles() error {
	dir := fmt.Sprintf("/proc/%d/fd", r.proc.Pid())
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is not dumpable; there is nothing to be seen
	}
	for _, f := range files {
		to, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err != nil || to != memoryName+" (deleted)" {
			continue
		}
		var fd uintptr
		if _, err := fmt.Sscan(f.Name(), &fd); err != nil {
			return err
		}
		if _, err := r.proc.Syscall(unix.SYS_CLOSE, fd); err != nil {
			return err
		}
	}
	return nil
}

// leave clears what points to the recorder's memory in a process whose threads are
// stopped and whose code does not lead there any more, and unmaps it. What cannot be
// unmapped is marked as left. errTooMuch says that what points there has not been cleared.
func (r *running) leave(o *owner) error {
	r.skip = append(r.skip, o.Memory)
	// Threads in the middle of a stub finish it; it leads back behind the patch.
	if o.Code.End > o.Code.Start {
		if err := r.proc.MoveOut(o.Code); err != nil {
			return err
		}
	}
	var words []uint64
	busy := false
	err := r.scan(func(addr, word uint64) {
		if word >= o.Code.Start && word < o.Code.End {
			busy = true // perhaps a signal's handler returns there
		}
		if o.States.Leads(addr, word, r.word) {
			words = append(words, addr)
		}
	})
	if errors.Is(err, errTooMuch) {
		return errors.Join(err, r.mark(o, leftMagic))
	}
	if err != nil {
		return err
	}
	for _, addr := range words {
		if _, err := r.proc.WriteAt(make([]byte, 8), int64(addr)); err != nil {
			return fmt.Errorf("clearing the recorder's word at %#x: %w", addr, err)
		}
	}
	if busy {
		return r.mark(o, leftMagic) // then it stays mapped, which does no harm
	}
	return r.unmapAll(o)
}

// unmapAll unmaps the recorder's memory, to which nothing leads.
func (r *running) unmapAll(o *owner) error {
	// The memory that says who we are is the last.
	for _, m := range []ptrace.Range{o.Code, o.Marks, o.Memory} {
		err := r.unmap(m)
		if errors.Is(err, ptrace.ErrFiltered) {
			return r.mark(o, leftMagic)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *running) unmap(m ptrace.Range) error {
	if m.Start == m.End {
		return nil
	}
	if _, err := r.proc.Syscall(unix.SYS_MUNMAP, uintptr(m.Start), uintptr(m.End-m.Start)); err != nil {
		return fmt.Errorf("unmapping the recorder's memory at %#x: %w", m.Start, err)
	}
	return nil
}
