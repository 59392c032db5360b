package rebuild

import (
	"encoding/binary"
	"errors"
	"regexp"
	"slices"
	"strings"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/target"
)

// Options of a recording.
type Options struct {
	Memory  uint64        // bytes for the call tree; 0: room for two million contexts
	Started func(pid int) // may be nil
	Values  *Values       // nil: none are kept
	Through []string      // a command that runs the program, such as an emulator; usually none
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
		if toRecorder(f.Funcs[i].Name) {
			to = append(to, f.Funcs[i].Entry)
		}
	}
	if len(to) == 0 {
		return nil, ErrPlain
	}
	var out []plan.Unhooked
	for i := range f.Funcs {
		fn := &f.Funcs[i]
		if !t.Records(fn.Package) || fn.Wrapper || calls(code, f.GOARCH, fn, to) {
			continue
		}
		why := "it is marked go:nosplit, or generated"
		if fn.Asm {
			why = "it is not written in Go"
		} else if initialiser.MatchString(fn.Name) {
			why = "whether it does anything is known to the compiler only"
		}
		out = append(out, plan.Unhooked{Func: i, Why: why})
	}
	return out, nil
}

// initialiser matches the name of a function init. Those of which mayBeNothing holds do not call the recorder.
var initialiser = regexp.MustCompile(`\.init\.[0-9]+$`)

// toRecorder reports whether a function is the recorder, or leads to it: on arm64 the linker makes such, from far away.
func toRecorder(name string) bool {
	name, _, _ = strings.Cut(name, "+")
	name, _, _ = strings.Cut(name, "-tramp")
	return name == "runtime.tracerag_enter" || name == "runtime.tracerag_body"
}

// calls reports whether a function's code calls one of others directly.
func calls(code *executable.Code, arch string, fn *executable.Func, to []uint64) bool {
	b := code.Bytes(fn.Entry, fn.End-fn.Entry)
	target := call
	step := 1
	if arch == "arm64" {
		target, step = branchWithLink, 4
	}
	for i := 0; i+step <= len(b); i += step {
		if displacement, ok := target(b[i:]); ok && slices.Contains(to, fn.Entry+uint64(i)+uint64(displacement)) {
			return true
		}
	}
	return false
}

// call returns where a call of amd64 leads to, from its beginning.
func call(b []byte) (displacement int64, ok bool) {
	const size = 5 // opcode and displacement
	if len(b) < size || b[0] != 0xe8 {
		return 0, false
	}
	return size + int64(int32(binary.LittleEndian.Uint32(b[1:]))), true
}

// branchWithLink does so of arm64: six bits say what it is, and the others count words.
func branchWithLink(b []byte) (displacement int64, ok bool) {
	word := binary.LittleEndian.Uint32(b)
	return int64(int32(word<<6)) >> 4, word>>26 == 0b100101
}
