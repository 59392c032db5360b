package target

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"

	program "tracerag/trace/binary"
)

// OwnCode is what a program can do with its own machine code while it runs. A recorder
// that changes that code must know. Each field names what was found in the program's
// file, in words for the user, or is empty.
//
// The linker leaves out what nobody calls, so what is in the file is there for a reason.
// It is found from the file alone: nothing of the program has run.
type OwnCode struct {
	// Changes: the program writes over its own functions, as libraries do that replace
	// functions in tests. It may expect of a function's first bytes that they are the
	// compiler's, or copy them elsewhere.
	Changes string
	// Reads: the program compares its own code with what it should be. Any recorder
	// that changes code makes it fail.
	Reads string
	// Protects: the program changes the protection of memory. Mostly that is memory
	// of its own, as in a compiler that makes code while it runs, but it might be that of its text.
	Protects string
}

// Refused returns the error for a program that no recorder can record, nil otherwise.
func (o OwnCode) Refused(path string) error {
	if o.Reads == "" {
		return nil
	}
	return fmt.Errorf("%s: the program checks its own code (%s), which every recorder changes\nrecord a build without the check, or import a CPU profile of it: tracerag import cpu.pprof", path, o.Reads)
}

// patchers are modules that write over functions, by import path. Others are found
// by what they do.
var patchers = []string{
	"bou.ke/monkey",
	"github.com/agiledragon/gomonkey",
	"github.com/bouk/monkey",
	"github.com/brahma-adshonor/gohook",
	"github.com/bytedance/mockey",
	"github.com/cch123/supermonkey",
	"github.com/go-kiss/monkey",
	"github.com/tencent/goom",
	"github.com/undefinedlabs/go-mpatch",
}

// patcher returns the module in patchers that a package belongs to, "" if none.
func patcher(pkg string) string {
	if _, vendored, ok := strings.Cut(pkg, "/vendor/"); ok {
		pkg = vendored
	}
	for _, p := range patchers {
		if rest, ok := strings.CutPrefix(pkg, p); ok && (rest == "" || rest[0] == '/') {
			if major, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/"); len(major) > 1 && major[0] == 'v' && strings.Trim(major[1:], "0123456789") == "" {
				p += "/" + major
			}
			return p
		}
	}
	return ""
}

// OwnCode looks for what the program can do with its own code.
func (t *Target) OwnCode() (OwnCode, error) {
	if t.ownCode == nil {
		own, err := ownCode(t.Binary)
		if err != nil {
			return own, err
		}
		t.ownCode = &own
	}
	return *t.ownCode, nil
}

func ownCode(f *program.File) (OwnCode, error) {
	var own OwnCode
	// A module's functions are next to each other: few are looked at.
	last := ""
	for i := range f.Funcs {
		if pkg := f.Funcs[i].Package; pkg != last {
			last = pkg
			if p := patcher(pkg); p != "" {
				own.Changes = p
				break
			}
		}
	}
	if f.GOARCH != "amd64" {
		return own, nil
	}
	code, err := f.Code()
	if err != nil {
		return own, err
	}
	s := &ownScan{f: f, code: code, targets: map[uint64]uint8{}, owns: map[string]bool{}}
	s.scan()
	own.Reads = s.reads
	for _, p := range s.protects {
		what := fmt.Sprintf("%s changes the protection of memory (mprotect)", p.fn)
		if !s.owns[p.pkg] && own.Changes == "" {
			own.Changes = what
		}
		own.Protects = what
	}
	if own.Changes == "" {
		own.Changes = s.procMem()
	}
	if own.Protects == "" {
		own.Protects = s.unknown
	}
	if own.Protects == "" && f.Imports("mprotect", "pkey_mprotect") {
		own.Protects = "its C code changes the protection of memory (mprotect)"
	}
	return own, nil
}

// ownScan looks through the code that is not of the standard library.
type ownScan struct {
	f       *program.File
	code    *program.Code
	targets map[uint64]uint8 // by entry: functions that make system calls

	protects []protector
	owns     map[string]bool // packages that map memory for themselves
	unknown  string          // a system call whose number is not known from here
	reads    string
}

// protector is a function that changes the protection of memory.
type protector struct{ pkg, fn string }

// What a function does that makes system calls.
const (
	callsAny      = iota + 1 // that whose number is the first argument
	callsMprotect            // mprotect, always
	callsMmap
)

const unixPackage = "golang.org/x/sys/unix"

// Numbers of system calls.
const (
	sysMmap         = 9
	sysMprotect     = 10
	sysPkeyMprotect = 329
)

func systemCall(fn *program.Func) uint8 {
	if fn.Package != "syscall" && fn.Package != unixPackage && !strings.Contains(fn.Package, "runtime/") {
		return 0
	}
	switch strings.TrimPrefix(fn.Name, fn.Package+".") {
	case "Syscall", "Syscall6", "RawSyscall", "RawSyscall6", "SyscallNoError", "RawSyscallNoError", "rawSyscallNoError":
		return callsAny
	case "Mprotect", "PkeyMprotect":
		return callsMprotect
	case "Mmap", "MmapPtr", "mmap", "(*mmapper).Mmap", "(*mmapper).MmapPtr":
		return callsMmap
	}
	return 0
}

func (s *ownScan) scan() {
	for i := range s.f.Funcs {
		if what := systemCall(&s.f.Funcs[i]); what != 0 {
			s.targets[s.f.Funcs[i].Entry] = what
		}
	}
	for i := range s.f.Funcs {
		fn := &s.f.Funcs[i]
		if fn.Package == "" || fn.Package == unixPackage || s.f.Std(fn.Package) {
			continue
		}
		b := s.code.Bytes(fn.Entry, fn.End-fn.Entry)
		s.calls(fn, b)
		s.textAddress(fn, b)
		if fn.Asm {
			s.assembly(fn, b)
		}
	}
}

// calls looks at the direct calls of functions that make system calls. Bytes that look
// like a call, and have such a function's entry for their target, are one.
func (s *ownScan) calls(fn *program.Func, b []byte) {
	for _, op := range []byte{0xe8, 0xe9} {
		for at := 0; ; at++ {
			next := bytes.IndexByte(b[at:], op)
			if next < 0 || at+next+5 > len(b) {
				break
			}
			at += next
			target := fn.Entry + uint64(at) + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(b[at+1:]))))
			what := s.targets[target]
			if what == 0 {
				continue
			}
			// It may be in a function that was inlined here.
			p := protector{fn.Package, fn.Name}
			for _, fr := range s.f.Frames(fn.Entry + uint64(at)) {
				if fr.Package != "syscall" && fr.Package != unixPackage {
					p = protector{fr.Package, fr.Name}
					break
				}
			}
			before := b[max(0, at-numberDistance):at]
			switch {
			case what == callsMprotect, what == callsAny && (constant(before, sysMprotect) || constant(before, sysPkeyMprotect)):
				s.protects = append(s.protects, p)
			case what == callsMmap, constant(before, sysMmap):
				s.owns[p.pkg] = true
			case !constant(before, -1):
				s.unknown = p.fn + " makes system calls whose numbers it computes"
			}
		}
	}
}

// numberDistance is how far before a call its first argument is set, in bytes: few
// arguments are set in between.
const numberDistance = 96

// constant tells if code sets a register or a word on the stack to a number; -1 is any
// small one.
func constant(code []byte, n int32) bool {
	for at := 1; at+4 <= len(code); at++ {
		v := int32(binary.LittleEndian.Uint32(code[at:]))
		if v != n && (n != -1 || v < 0 || v > 1000) {
			continue
		}
		// mov r32, n; mov qword [...], n
		if op := code[at-1]; op >= 0xb8 && op <= 0xbf || bytes.IndexByte(code[max(0, at-7):at], 0xc7) >= 0 {
			return true
		}
	}
	return false
}

// assembly looks for system calls that a function makes by itself.
func (s *ownScan) assembly(fn *program.Func, b []byte) {
	if !bytes.Contains(b, []byte{0x0f, 0x05}) { // syscall
		return
	}
	if constant(b, sysMprotect) || constant(b, sysPkeyMprotect) {
		s.protects = append(s.protects, protector{fn.Package, fn.Name})
		return
	}
	s.unknown = fn.Name + " makes system calls of its own"
}

// textAddress looks for the addresses at which the program's text begins or ends: who
// has these is about to read it, to see if it is as it was linked.
func (s *ownScan) textAddress(fn *program.Func, b []byte) {
	for at := 0; s.reads == ""; at++ {
		next := bytes.IndexByte(b[at:], 0x8d) // lea r64, [rip+n]
		if next < 0 || at+next+6 > len(b) {
			break
		}
		at += next
		if at == 0 || b[at-1]&0xf8 != 0x48 || b[at+1]&0xc7 != 0x05 {
			continue
		}
		to := fn.Entry + uint64(at) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(b[at+2:]))))
		if to == s.f.TextStart || to == s.f.TextEnd {
			s.reads = fn.Name + " has the address of the program's whole text"
		}
	}
}

// procMem looks for the file by which a process writes to any of its memory.
func (s *ownScan) procMem() string {
	const file = "/proc/self/mem"
	var strings []uint64
	for _, d := range s.code.Data() {
		for at := 0; ; at++ {
			next := bytes.Index(d.Bytes[at:], []byte(file))
			if next < 0 {
				break
			}
			at += next
			strings = append(strings, d.Addr+uint64(at))
		}
	}
	if len(strings) == 0 {
		return ""
	}
	// Other strings contain this one: /proc/self/meminfo. Its length stands beside the address.
	for i := range s.f.Funcs {
		fn := &s.f.Funcs[i]
		b := s.code.Bytes(fn.Entry, fn.End-fn.Entry)
		for at := 0; ; at++ {
			next := bytes.IndexByte(b[at:], 0x8d)
			if next < 0 || at+next+6 > len(b) {
				break
			}
			at += next
			to := fn.Entry + uint64(at) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(b[at+2:]))))
			if !slices.Contains(strings, to) {
				continue
			}
			// The second argument of os.OpenFile and syscall.Open is in ECX. Who
			// only reads the file does no harm: some look for the vdso there.
			near := b[max(0, at-48):min(len(b), at+48)]
			writes := bytes.Contains(near, []byte{0xb9, syscall.O_WRONLY, 0, 0, 0}) || bytes.Contains(near, []byte{0xb9, syscall.O_RDWR, 0, 0, 0})
			if writes && constant(near, int32(len(file))) {
				return fn.Name + " writes to " + file
			}
		}
	}
	return ""
}
