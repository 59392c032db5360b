package probe

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"
)

// heldText is a part of a program's text, as it was read when it was held. It is tens of
// megabytes that nobody needs for long, so it is no garbage.
type heldText struct {
	from uint64
	code []byte
}

func newHeldText(from, to uint64) (heldText, error) {
	mem := hugeMemory(int(to - from))
	if mem == nil {
		return heldText{}, fmt.Errorf("no memory for %d bytes of code", to-from)
	}
	return heldText{from, mem}, nil
}

func (h *heldText) free() {
	if h.code != nil {
		_ = unix.Munmap(h.code)
		h.code = nil
	}
}

// matches compares all code that the plan moves or replaces with what the process,
// which is held, has there, and returns the text that has it. Nothing of it has been
// changed until then.
func (r *running) matches(p *prepared) (text heldText, err error) {
	slide, err := r.slide(p)
	if err != nil {
		return text, err
	}
	if slide != 0 { // an image is of no use
		if err := p.ready(); err != nil {
			return text, err
		}
		p.image.free()
		p.image = nil
	}
	lo, hi := ^uint64(0), uint64(0)
	for at, code := range p.displaced(slide) {
		lo, hi = min(lo, at), max(hi, at+uint64(len(code)))
	}
	if first, end := p.shape.Start+slide, p.shape.End+slide; lo > hi {
		return text, nil // nothing is changed
	} else if lo < first || hi > end {
		return text, fmt.Errorf("the plan has code at %#x to %#x, the program from %#x to %#x", lo, hi, first, end)
	}
	if text, err = newHeldText(lo, hi); err != nil {
		return text, err
	}
	if n, err := r.proc.ReadAt(text.code, int64(lo)); n < len(text.code) {
		return text, fmt.Errorf("reading its code: %w", err)
	}
	for at, code := range p.displaced(slide) {
		if !bytes.Equal(text.code[at-lo:][:len(code)], code) {
			return text, fmt.Errorf("the code at %#x is not that of its file", at)
		}
	}
	return text, nil
}
