package target

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"tracerag/trace/executable"
)

// OwnCode is what a program can do with its own machine code, and with all of its memory,
// while it runs. A recorder that changes that code, or has memory there, must know. Each
// field names what was found in the program's file, in words for the user, or is empty.
//
// The linker leaves out what is never called, so what is in the file is there for a reason.
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
	// Locks: the program may lock all of its memory, which makes that resident.
	Locks string
	// Limits: the program may set a limit to its address space or its data, which then
	// holds for what a recorder has there, too.
	Limits string
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
		if err := t.Ready(); err != nil {
			return OwnCode{}, err
		}
		own, err := ownCode(t.Binary)
		if err != nil {
			return own, err
		}
		t.ownCode = &own
	}
	return *t.ownCode, nil
}

// KnowOwnCode spares OwnCode the search where an earlier one in the same program has found
// this; nil has it search.
func (t *Target) KnowOwnCode(own *OwnCode) { t.ownCode = own }

func ownCode(f *executable.File) (OwnCode, error) {
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
	if own.Locks = s.locks; own.Locks == "" && f.Imports("mlockall") {
		own.Locks = "its C code locks memory (mlockall)"
	}
	if own.Limits = s.limits; own.Limits == "" && f.Imports("setrlimit", "setrlimit64", "prlimit", "prlimit64") {
		own.Limits = "its C code sets limits (setrlimit)"
	}
	return own, nil
}

// ownScan looks through the code that is not of the standard library.
type ownScan struct {
	f       *executable.File
	code    *executable.Code
	targets map[uint64]uint8 // by entry: functions that make system calls

	protects []protector
	owns     map[string]bool // packages that map memory for themselves
	unknown  string          // a system call whose number is not known from here
	reads    string
	locks    string
	limits   string
}

// protector is a function that changes the protection of memory.
type protector struct{ pkg, fn string }

// What a function does that makes system calls.
const (
	callsAny      = iota + 1 // that whose number is the first argument
	callsMprotect            // mprotect, always
	callsMmap
	callsMlockall
	callsSetrlimit // the first argument says of what
	callsPrlimit   // the second one does
)

const unixPackage = "golang.org/x/sys/unix"

// Numbers of system calls.
const (
	sysMmap         = 9
	sysMprotect     = 10
	sysPkeyMprotect = 329
	sysMlockall     = 151
	sysSetrlimit    = 160
	sysPrlimit      = 302
)

// Numbers of limits (getrlimit(2)).
const (
	limitData  = 2
	limitSpace = 9
	limitsEnd  = 16
)

func systemCall(fn *executable.Func) uint8 {
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
	case "Mlockall":
		return callsMlockall
	case "Setrlimit", "setrlimit", "setrlimit1":
		return callsSetrlimit
	case "Prlimit", "prlimit", "prlimit1":
		return callsPrlimit
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
func (s *ownScan) calls(fn *executable.Func, b []byte) {
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
			nr, known := 0, true
			if what == callsAny {
				nr, known = number(before)
			}
			switch {
			case !known:
				s.unknown = p.fn + " makes system calls whose numbers it computes"
			case what == callsMprotect || nr == sysMprotect || nr == sysPkeyMprotect:
				s.protects = append(s.protects, p)
			case what == callsMmap || nr == sysMmap:
				s.owns[p.pkg] = true
			case what == callsMlockall || nr == sysMlockall:
				s.locks = p.fn + " locks memory (mlockall)"
			case what == callsSetrlimit && !otherLimit(before, 0xb8), // mov eax, n
				what == callsPrlimit && !otherLimit(before, 0xbb), // mov ebx, n
				nr == sysSetrlimit || nr == sysPrlimit:
				s.limits = p.fn + " sets limits (setrlimit)"
			}
		}
	}
}

// number is that of the system call of a function that has it for its first argument:
// what the code before the call has set last, EAX or, for a function in assembly, the
// word at the stack's end.
func number(before []byte) (nr int, known bool) {
	onStack := []byte{0x48, 0xc7, 0x04, 0x24} // mov qword [rsp], n
	for at := len(before) - 5; at >= 0; at-- {
		rest := before[at:]
		switch {
		case rest[0] == 0x31 && rest[1] == 0xc0: // xor eax, eax
			return 0, true
		case rest[0] == 0xb8 && (at == 0 || before[at-1]&0xf0 != 0x40): // mov eax, n; with a prefix: another register
			rest = rest[1:]
		case bytes.HasPrefix(rest, onStack) && len(rest) >= len(onStack)+4:
			rest = rest[len(onStack):]
		default:
			continue
		}
		if n := binary.LittleEndian.Uint32(rest); n <= 1000 {
			return int(n), true
		}
	}
	return 0, false
}

// otherLimit tells if the argument of a call, which a mov with this opcode sets, is that of
// a limit that has nothing to do with memory that is mapped: most set that of open files.
func otherLimit(before []byte, mov byte) bool {
	other := false
	for at := 0; at+5 <= len(before); at++ {
		if before[at] != mov || at > 0 && before[at-1]&0xf0 == 0x40 { // a prefix: another register
			continue
		}
		switch n := binary.LittleEndian.Uint32(before[at+1:]); {
		case n == limitData || n == limitSpace:
			return false
		case n < limitsEnd:
			other = true
		}
	}
	return other
}

// numberDistance is how far before a call its first argument is set, in bytes: few
// arguments are set in between.
const numberDistance = 96

// constant tells if code sets a register or a word on the stack to a number.
func constant(code []byte, n int32) bool {
	for at := 1; at+4 <= len(code); at++ {
		if v := int32(binary.LittleEndian.Uint32(code[at:])); v != n {
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
func (s *ownScan) assembly(fn *executable.Func, b []byte) {
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
func (s *ownScan) textAddress(fn *executable.Func, b []byte) {
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
	// Other strings contain this one: /proc/self/meminfo. Its length is beside the address.
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
