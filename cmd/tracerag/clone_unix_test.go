//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTerminatedClone ends a clone by the signals that ask for an end. Nothing of it is left.
func TestTerminatedClone(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		l, err := net.Listen("tcp", "127.0.0.1:0") // nobody answers
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		dir := t.TempDir()
		cmd := exec.Command(commandPath(t), "index", "--knowledge", filepath.Join(dir, "k.db"), "https://"+l.Addr().String()+"/owner/app")
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "HOME="+dir, "TRACERAG_DIR="+filepath.Join(dir, "traces"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		at := filepath.Join(dir, "tracerag", "repositories", "*", "owner", ".clone-*")
		if list, _ := filepath.Glob(at); len(list) != 1 {
			t.Errorf("while it runs: %v", list)
		}
		_ = cmd.Process.Signal(s)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
		if list, _ := filepath.Glob(at); len(list) != 0 {
			t.Errorf("%v leaves %v", s, list)
		}
	}
}
