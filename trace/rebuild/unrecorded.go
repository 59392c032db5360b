package rebuild

import (
	"encoding/binary"
	"errors"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/target"
)

// Options of a recording.
type Options struct {
	Memory  uint64        // bytes for the call tree; 0: room for two million contexts
	Started func(pid int) // may be nil
}

// ErrPlain says that a program was built without the recorder. It has not run.
var ErrPlain = errors.New("it was built without the recorder")

// unrecorded lists the recorded packages' functions that do not call the recorder.
func unrecorded(t *target.Target) ([]plan.Unhooked, error) {
	f := t.Binary
	code, err := f.Code()
	if err != nil {
		return nil, err
	}
	var to []uint64
	for i := range f.Funcs {
		if name := f.Funcs[i].Name; name == "runtime.tracerag_enter" || name == "runtime.tracerag_body" {
			to = append(to, f.Funcs[i].Entry)
		}
	}
	if len(to) == 0 {
		return nil, ErrPlain
	}
	var out []plan.Unhooked
	for i := range f.Funcs {
		fn := &f.Funcs[i]
		if !t.Records(fn.Package) || fn.Wrapper || calls(code, fn, to) {
			continue
		}
		why := "it is marked go:nosplit, or generated"
		if fn.Asm {
			why = "it is not written in Go"
		}
		out = append(out, plan.Unhooked{Func: i, Why: why})
	}
	return out, nil
}

// calls reports whether a function's code calls one of others directly.
func calls(code *executable.Code, fn *executable.Func, to []uint64) bool {
	const size = 5 // opcode and displacement
	b := code.Bytes(fn.Entry, fn.End-fn.Entry)
	for i := 0; i+size <= len(b); i++ {
		if b[i] != 0xe8 {
			continue
		}
		at := fn.Entry + uint64(i) + size + uint64(int64(int32(binary.LittleEndian.Uint32(b[i+1:]))))
		for _, t := range to {
			if at == t {
				return true
			}
		}
	}
	return false
}
