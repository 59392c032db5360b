package probe

import (
	"bytes"
	"errors"
	"fmt"

	"tracerag/trace/probe/patch/stubs"
)

const (
	page = 4096
	// gap is how far patches are apart that are read and written each by itself: less
	// is cheaper to read and write than to leave out.
	gap = 4 * page
)

// write writes the patches, which are sorted by address. All code is looked at before any
// is written: what is neither as it was nor as it will be is an error, and then nothing
// is changed.
func (r *running) write(patches []stubs.Patch) error {
	err := r.eachRun(patches, func(run []stubs.Patch, code []byte, from uint64) error {
		for i := range run {
			if err := intact(&run[i], code[run[i].Addr-from:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.eachRun(patches, r.writeRun)
}

// intact looks at the code in a patch's place.
func intact(p *stubs.Patch, at []byte) error {
	if n := len(p.New()); !bytes.Equal(at[:n], p.Old()) && !bytes.Equal(at[:n], p.New()) {
		return fmt.Errorf("the code at %#x is not that of its file", p.Addr)
	}
	return nil
}

// writeText does what write does in a program that has not run since its text was read.
func (r *running) writeText(patches []stubs.Patch, text heldText) error {
	for i := range patches {
		p := &patches[i]
		if p.Addr < text.from || p.End() > text.from+uint64(len(text.code)) {
			return fmt.Errorf("the plan changes code at %#x, which it does not displace", p.Addr)
		}
		at := text.code[p.Addr-text.from:]
		if err := intact(p, at); err != nil {
			return err
		}
		copy(at, p.New())
	}
	for len(patches) > 0 {
		run := 1
		for run < len(patches) && patches[run].Addr < patches[run-1].End()+gap {
			run++
		}
		from, to := patches[0].Addr, patches[run-1].End()
		if _, err := r.proc.WriteAt(text.code[from-text.from:to-text.from], int64(from)); err != nil {
			return fmt.Errorf("writing its code: %w", err)
		}
		patches = patches[run:]
	}
	return nil
}

// putBack writes the patches' own code back where they still are. It is an error if
// somebody else has changed some of them since: those stay.
func (r *running) putBack(patches []stubs.Patch) error {
	back := make([]stubs.Patch, 0, len(patches))
	changed := 0
	err := r.eachRun(patches, func(run []stubs.Patch, code []byte, from uint64) error {
		for i := range run {
			p := &run[i]
			switch at := code[p.Addr-from:]; {
			case bytes.Equal(at[:len(p.New())], p.New()):
				back = append(back, stubs.NewPatch(p.Addr, p.New(), p.Old()))
			case !bytes.Equal(at[:len(p.Old())], p.Old()):
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

// eachRun calls do for patches in pages that follow one another, or nearly. It gives the
// code of these pages.
func (r *running) eachRun(patches []stubs.Patch, do func(run []stubs.Patch, code []byte, from uint64) error) error {
	for len(patches) > 0 {
		from := patches[0].Addr &^ (page - 1)
		to, n := from, 0
		for n < len(patches) && patches[n].Addr < to+gap {
			to = (patches[n].End() + page - 1) &^ (page - 1)
			n++
		}
		b := make([]byte, to-from)
		if k, err := r.proc.ReadAt(b, int64(from)); k < len(b) {
			last := patches[n-1].End() - from
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
	for i := range run {
		copy(code[run[i].Addr-from:], run[i].New())
	}
	if _, err := r.proc.WriteAt(code, int64(from)); err != nil {
		return fmt.Errorf("writing its code: %w", err)
	}
	return nil
}
