package ptrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEnds lets programs go that end in all ways.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		role, arg, stdout string
		exit              Exit
	}{
		{"exit", "0", "exiting with 0\n", Exit{}},
		{"exit", "7", "exiting with 7\n", Exit{Code: 7}},
		{"die", "9", "", Exit{Code: 137, Signal: "SIGKILL"}},
		{"die", "15", "", Exit{Code: 143, Signal: "SIGTERM"}},
	} {
		t.Run(tt.role+" "+tt.arg, func(t *testing.T) {
			p := hold(t, tt.role, tt.arg)
			if err := furnish(p.Process); err != nil {
				t.Fatal(err)
			}
			p.letGo(t)
			if exit, stdout, stderr := p.end(t); exit != tt.exit || stdout != tt.stdout || stderr != "" {
				t.Errorf("ended with %v, wrote %q and %q; want %v and %q", exit, stdout, stderr, tt.exit, tt.stdout)
			}
		})
	}
}

// TestSyscall makes system calls, with the vDSO's instruction and with one that
// is written into the program's code.
func TestSyscall(t *testing.T) {
	for _, name := range []string{"vDSO", "text"} {
		t.Run(name, func(t *testing.T) {
			p := hold(t, "exit", "3")
			entry, err := p.Entry()
			if err != nil {
				t.Fatal(err)
			}
			if name == "text" {
				p.gate = gate{addr: entry, text: true}
			}
			before := inspect(t, p.Process, entry)
			if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != p.Pid() {
				t.Errorf("getpid is %d, %v; want %d", pid, err, p.Pid())
			}
			if _, err := p.Syscall(unix.SYS_CLOSE, 12345); err != unix.EBADF {
				t.Errorf("closing no file: %v, want EBADF", err)
			}
			if _, err := p.Syscall(100_000); err != unix.ENOSYS {
				t.Errorf("no system call: %v, want ENOSYS", err)
			}
			// An argument in each place.
			const size = 3 * pageSize
			addr, err := p.Syscall(unix.SYS_MMAP, 0x5_0000_0000, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
			if err != nil || addr != 0x5_0000_0000 {
				t.Errorf("mmap is %#x, %v", addr, err)
			}
			if _, err := p.Syscall(unix.SYS_GETPID, 1, 2, 3, 4, 5, 6, 7); err == nil {
				t.Error("seven arguments are accepted")
			}
			if after := inspect(t, p.Process, entry); after != before {
				t.Errorf("the process was\n%+v and is\n%+v", before, after)
			}
			if name == "vDSO" && p.gate.text {
				t.Error("there is no syscall instruction in the vDSO")
			}
			p.letGo(t)
			if exit, _, _ := p.end(t); exit.Code != 3 {
				t.Errorf("ended with %v", exit)
			}
		})
	}
}

// inside is what a system call of ours must leave as it was.
type inside struct {
	regs unix.PtraceRegs
	code [64]byte
}

func inspect(t *testing.T, p *Process, entry uint64) (in inside) {
	t.Helper()
	if err := p.do(func() error {
		_, err := p.readAt(in.code[:], entry)
		return errors.Join(err, unix.PtraceGetRegs(p.pid, &in.regs))
	}); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestShare has the process, by its system calls, read what we write and write
// what we read.
func TestShare(t *testing.T) {
	p := hold(t, "exit", "0")
	mem, file, err := p.Share(sharedSize, sharedAt)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	defer file.Close()

	if _, err := p.Syscall(unix.SYS_GETRANDOM, sharedAt+sharedSize-256, 256, 0); err != nil {
		t.Fatal(err)
	}
	if got := mem[sharedSize-256:]; bytes.Equal(got, make([]byte, 256)) {
		t.Error("what the process has written is not to be seen here")
	}
	const word = "seen from the other side\n"
	copy(mem[pageSize:], word)
	if n, err := p.Syscall(unix.SYS_WRITE, 1, sharedAt+pageSize, uintptr(len(word))); err != nil || int(n) != len(word) {
		t.Fatalf("write: %d, %v", n, err)
	}
	if line, err := p.stdout.ReadString('\n'); line != word || err != nil {
		t.Errorf("the process reads %q, %v; want %q", line, err, word)
	}

	// What was never written takes no room.
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != sharedSize || st.Blocks*512 > 1<<20 {
		t.Errorf("the file has %d bytes and takes %d", st.Size, st.Blocks*512)
	}
	if at, err := unix.Seek(int(file.Fd()), 2*pageSize, unix.SEEK_DATA); err != nil || at < sharedSize-1<<21 {
		t.Errorf("the next data is at %#x, %v", at, err)
	}
	smaps, err := os.ReadFile("/proc/" + itoa(p.Pid()) + "/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, entry, _ := strings.Cut(string(smaps), "2f0000000000-")
	_, flags, _ := strings.Cut(entry, "VmFlags:")
	flags, _, _ = strings.Cut(flags, "\n")
	if !strings.Contains(entry, "/memfd:tracerag") || !strings.Contains(flags+" ", " dd ") {
		t.Errorf("the mapping is not kept from core dumps, or has another name:\n%.1000s", entry)
	}

	if _, _, err := p.Share(pageSize, sharedAt+pageSize); !errors.Is(err, errTaken) {
		t.Errorf("sharing the same addresses again: %v, want errTaken", err)
	}
	p.letGo(t)
	if exit, _, _ := p.end(t); exit != (Exit{}) {
		t.Errorf("ended with %v", exit)
	}
	if string(mem[pageSize:pageSize+len(word)]) != word {
		t.Error("the memory does not outlive the process")
	}
}

// TestMapCode runs code that was written into memory for code.
func TestMapCode(t *testing.T) {
	p := hold(t, "exit", "0")
	entry, err := p.Entry()
	if err != nil {
		t.Fatal(err)
	}
	addr, err := p.FindRoom(entry, 2*pageSize, 1<<31-1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.MapCode(addr, 2*pageSize); err != nil {
		t.Fatal(err)
	}
	if err := p.MapCode(addr+pageSize, pageSize); !errors.Is(err, errTaken) {
		t.Errorf("mapping it again: %v, want errTaken", err)
	}
	// mov edi, 42; mov eax, exit_group; syscall
	code := []byte{0xbf, 42, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05}
	if _, err := p.WriteAt(code, int64(addr+pageSize-4)); err != nil { // over the end of a page
		t.Fatal(err)
	}
	// and a jump to it at the entry
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(addr+pageSize-4-entry-5))
	if _, err := p.WriteAt(jump, int64(entry)); err != nil {
		t.Fatal(err)
	}
	maps, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range maps {
		if strings.Contains(m.Perms, "w") && strings.Contains(m.Perms, "x") {
			t.Errorf("writable and executable: %+v", m)
		}
	}
	p.letGo(t)
	if exit, _, _ := p.end(t); exit.Code != 42 {
		t.Errorf("ended with %v, want 42", exit)
	}
}

// TestMemory reads and writes in each way there is.
func TestMemory(t *testing.T) {
	for _, name := range []string{"/proc/PID/mem", "ptrace"} {
		t.Run(name, func(t *testing.T) {
			p := hold(t, "exit", "0")
			if name == "ptrace" {
				p.mem.Close()
				p.mem = nil
			}
			entry, err := p.Entry()
			if err != nil {
				t.Fatal(err)
			}
			at := int64(entry) + 3 // not at a word's beginning
			own := make([]byte, 2*pageSize)
			if _, err := p.ReadAt(own, at); err != nil {
				t.Fatal(err)
			}
			other := bytes.Repeat([]byte("tracerag"), len(own)/8)
			if n, err := p.WriteAt(other[:len(own)-1], at); n != len(own)-1 || err != nil {
				t.Fatalf("wrote %d bytes, %v", n, err)
			}
			got := make([]byte, len(own))
			if _, err := p.ReadAt(got, at); err != nil {
				t.Fatal(err)
			}
			if want := append(bytes.Clone(other[:len(own)-1]), own[len(own)-1]); !bytes.Equal(got, want) {
				t.Error("what was written is not what is read")
			}
			if _, err := p.WriteAt(own, at); err != nil {
				t.Fatal(err)
			}
			if n, err := p.ReadAt(got, pageSize); n != 0 || err == nil {
				t.Errorf("reading what is not there: %d bytes, %v", n, err)
			}
			if n, err := p.WriteAt(got, pageSize); n != 0 || err == nil {
				t.Errorf("writing what is not there: %d bytes, %v", n, err)
			}
			p.letGo(t)
			if exit, _, _ := p.end(t); exit != (Exit{}) {
				t.Errorf("ended with %v", exit)
			}
			if _, err := p.ReadAt(got, at); !errors.Is(err, errLetGo) {
				t.Errorf("reading after Detach: %v, want errLetGo", err)
			}
		})
	}
}
