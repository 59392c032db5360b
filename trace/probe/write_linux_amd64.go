package probe

import (
	"bytes"
	"errors"
	"fmt"

	"tracerag/trace/probe/patch/stubs"
)

const page = 4096

// write writes the patches, which are sorted by address. All code is looked at before any
// is written: what is neither as it was nor as it will be is an error, and then nothing
// is changed.
func (r *running) write(patches []stubs.Patch) error {
	err := r.eachRun(patches, func(run []stubs.Patch, code []byte, from uint64) error {
		for _, p := range run {
			if at := code[p.Addr-from:]; !bytes.Equal(at[:len(p.Old)], p.Old) && !bytes.Equal(at[:len(p.New)], p.New) {
				return fmt.Errorf("the code at %#x is not that of its file", p.Addr)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.eachRun(patches, r.writeRun)
}

// putBack writes the patches' own code back where they still are. It is an error if
// somebody else has changed some of them since: those stay.
func (r *running) putBack(patches []stubs.Patch) error {
	back := make([]stubs.Patch, 0, len(patches))
	changed := 0
	err := r.eachRun(patches, func(run []stubs.Patch, code []byte, from uint64) error {
		for _, p := range run {
			switch at := code[p.Addr-from:]; {
			case bytes.Equal(at[:len(p.New)], p.New):
				back = append(back, stubs.Patch{Addr: p.Addr, Old: p.New, New: p.Old})
			case !bytes.Equal(at[:len(p.Old)], p.Old):
				changed++
			}
		}
		return nil
	})
	if err == nil {
		err = r.eachRun(back, r.writeRun)
	}
	if changed > 0 {
		err = errors.Join(err, fmt.Errorf("%d places in its code stay changed and are counted: something else has changed them since", changed))
	}
	return err
}

// eachRun calls do for patches in pages that follow one another, or nearly: a gap of few
// is cheaper to read and write than to leave out. It gives the code of these pages.
func (r *running) eachRun(patches []stubs.Patch, do func(run []stubs.Patch, code []byte, from uint64) error) error {
	for len(patches) > 0 {
		from := patches[0].Addr &^ (page - 1)
		to, n := from, 0
		for n < len(patches) && patches[n].Addr < to+4*page {
			to = (patches[n].Addr + uint64(len(patches[n].New)) + page - 1) &^ (page - 1)
			n++
		}
		b := make([]byte, to-from)
		if k, err := r.proc.ReadAt(b, int64(from)); k < len(b) {
			last := patches[n-1].Addr + uint64(len(patches[n-1].New)) - from
			if uint64(k) < last {
				return fmt.Errorf("reading its code: %w", err)
			}
			b = b[:k]
		}
		if err := do(patches[:n], b, from); err != nil {
			return err
		}
		patches = patches[n:]
	}
	return nil
}

func (r *running) writeRun(run []stubs.Patch, code []byte, from uint64) error {
	for _, p := range run {
		copy(code[p.Addr-from:], p.New)
	}
	if _, err := r.proc.WriteAt(code, int64(from)); err != nil {
		return fmt.Errorf("writing its code: %w", err)
	}
	return nil
}
