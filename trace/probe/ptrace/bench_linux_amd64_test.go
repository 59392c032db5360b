package ptrace

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkStart is what a program that is held and furnished costs over one that
// is not (BenchmarkPlain).
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := startRole([3]*os.File{}, false, "exit", "0")
		if err != nil {
			b.Fatal(err)
		}
		if err := furnish(p); err != nil {
			b.Fatal(err)
		}
		if err := p.Detach(); err != nil {
			b.Fatal(err)
		}
		if _, err := p.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		if err := plainRole("exit", "0").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkHeld(b *testing.B, f func(p *Process) error) {
	p, err := startRole([3]*os.File{}, false, "exit", "0")
	if err != nil {
		b.Fatal(err)
	}
	defer p.Abandon()
	for b.Loop() {
		if err := f(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSyscall(b *testing.B) {
	benchmarkHeld(b, func(p *Process) error {
		_, err := p.Syscall(unix.SYS_GETPID)
		return err
	})
}

// BenchmarkWriteAt writes a page of code, through /proc/PID/mem and through ptrace.
func BenchmarkWriteAt(b *testing.B) {
	for _, how := range []string{"mem", "ptrace"} {
		b.Run(how, func(b *testing.B) {
			page := make([]byte, pageSize)
			b.SetBytes(pageSize)
			benchmarkHeld(b, func(p *Process) error {
				if how == "ptrace" && p.mem != nil {
					p.mem.Close()
					p.mem = nil
				}
				entry, err := p.Entry()
				if err != nil {
					return err
				}
				_, err = p.WriteAt(page, int64(entry&^(pageSize-1)))
				return err
			})
		})
	}
}

// BenchmarkAttach holds a busy program and lets it go.
func BenchmarkAttach(b *testing.B) {
	cmd := plainRole("busy")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := Attach(cmd.Process.Pid)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Detach(); err != nil {
			b.Fatal(err)
		}
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
