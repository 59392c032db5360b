//go:build unix

package postgrestest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const childVariable = "POSTGRESTEST_CHILD"

// TestChild is the process that TestNothingIsLeft ends.
func TestChild(t *testing.T) {
	how := os.Getenv(childVariable)
	if how == "" {
		t.Skip("it runs in a process of its own")
	}
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	if how == "killed" {
		s.Stop(true)
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = os.Stdout.WriteString("dir " + s.dir + "\n")
	if how == "panics" {
		panic("of a test")
	}
	time.Sleep(time.Minute)
}

// TestNothingIsLeft ends a test in ways that leave it no time: its server ends too, and its files go.
func TestNothingIsLeft(t *testing.T) {
	if ok, err := Installed(); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip(errNone)
	}
	for _, how := range []string{"panics", "killed"} {
		c := exec.Command(os.Args[0], "-test.run=^TestChild$")
		c.Env = append(os.Environ(), childVariable+"="+how)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var dir string
		lines := bufio.NewScanner(out)
		for dir == "" && lines.Scan() {
			dir, _ = strings.CutPrefix(lines.Text(), "dir ")
			if !filepath.IsAbs(dir) {
				dir = ""
			}
		}
		if dir == "" {
			t.Fatalf("%s: the server did not start", how)
		}
		pid := 0
		if b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid")); err == nil { // it may be gone already
			first, _, _ := strings.Cut(string(b), "\n")
			if pid, err = strconv.Atoi(first); err != nil {
				t.Fatal(err)
			}
		} else if how != "panics" {
			t.Fatal(err)
		}
		if how != "panics" {
			_ = c.Process.Kill()
		}
		for lines.Scan() {
		}
		_ = c.Wait()
		deadline := time.Now().Add(20 * time.Second)
		for left(dir, pid) && time.Now().Before(deadline) {
			time.Sleep(50 * time.Millisecond)
		}
		if left(dir, pid) {
			t.Errorf("%s: %s, or process %d, is still there", how, dir, pid)
			_ = syscall.Kill(pid, syscall.SIGQUIT)
		}
	}
}

func left(dir string, pid int) bool {
	_, err := os.Stat(dir)
	return err == nil || pid > 0 && syscall.Kill(pid, 0) == nil
}
