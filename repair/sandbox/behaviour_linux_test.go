package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
)

// TestAsNobody makes all tests of this package as a user without rights, where this one
// is the superuser.
func TestAsNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests are made without rights already")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "nobody-")
	must(t, err)
	defer os.RemoveAll(dir)
	const nobody = 65534
	must(t, os.Chmod(dir, 0o755))
	exe, err := os.Executable()
	must(t, err)
	for from, to := range map[string]string{exe: "sandbox.test", fixtures.Build(t, "hostile"): "hostile"} {
		if out, err := exec.Command("cp", from, filepath.Join(dir, to)).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Chown(home, nobody, nobody))
	cmd := exec.Command(filepath.Join(dir, "sandbox.test"), "-test.v", "-test.short", "-test.skip=TestAsNobody")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "GOCACHE="+filepath.Join(home, "gocache"), hostileVariable+"="+filepath.Join(dir, "hostile"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip(err)
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "=== ") {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
}

// each runs a test under every mechanism that works here.
func each(t *testing.T, test func(r *rig)) {
	for _, m := range all {
		t.Run(m, func(t *testing.T) {
			r := newRig(t, m)
			if err := r.try(t.Context(), m, ""); err != nil {
				t.Skip(err)
			}
			test(r)
		})
	}
}

// TestBehaviour compares what a program does within its limits with what it does alone.
func TestBehaviour(t *testing.T) {
	each(t, func(r *rig) {
		c := r.command(r.hostile, "-do=nothing", "a", "b c")
		cmd := exec.Command(c.Args[0], c.Args[1:]...)
		cmd.Dir, cmd.Env = c.Dir, c.Env
		alone, err := cmd.Output()
		must(r.t, err)
		if _, out := r.runs(c); out != string(alone) {
			r.t.Errorf("it prints\n%s\nand alone\n%s", out, alone)
		}
	})
}

func TestEnds(t *testing.T) {
	each(t, func(r *rig) {
		for _, code := range []int{0, 1, 3, 255} {
			if res, _ := r.run("exit", strconv.Itoa(code)); res.Code != code || res.Stopped != "" {
				r.t.Errorf("%d: %+v", code, res)
			}
		}
		if res, _ := r.run("signal"); res.Code != 128+int(syscall.SIGTERM) || res.Stopped != "" {
			r.t.Errorf("by a signal: %+v", res)
		}
		_, err := r.Run(r.ctx, r.command("there-is-no-such-program"))
		if !errors.Is(err, exec.ErrNotFound) {
			r.t.Errorf("%v", err)
		}
		c := r.command("true")
		c.Dir = filepath.Join(r.scratch, "gone")
		if _, err := r.Run(r.ctx, c); err == nil || !strings.Contains(err.Error(), "gone") {
			r.t.Errorf("%v", err)
		}
		var out, errs bytes.Buffer
		c = r.command("/bin/sh", "-c", "echo out; echo err >&2; cat; ulimit -c")
		c.Stdout, c.Stderr = &out, &errs
		if res, err := r.Run(r.ctx, c); err != nil || out.String() != "out\n0\n" || errs.String() != "err\n" {
			r.t.Errorf("%+v, %v: %q %q", res, err, out.String(), errs.String())
		}
	})
}

// TestUsed requires the processor time and memory of grandchildren, too.
func TestUsed(t *testing.T) {
	each(t, func(r *rig) {
		c := r.command("/bin/sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'")
		res, _ := r.runs(c)
		if res.CPU < 50*time.Millisecond || res.CPU > 2*res.Wall || res.Wall > 10*time.Second {
			r.t.Errorf("%+v", res)
		}
	})
}

// TestRefused says what was refused.
func TestRefused(t *testing.T) {
	r := newRig(t, namespaces)
	if err := r.try(t.Context(), namespaces, ""); err != nil {
		t.Skip(err)
	}
	res, _ := r.run("net", "tcp:192.0.2.1:80")
	if text := strings.Join(res.Refused, "\n"); !strings.Contains(text, "network: ") {
		t.Errorf("%q", text)
	}
	res, _ = r.run("write", "/usr/lib/hostile")
	if text := strings.Join(res.Refused, "\n"); os.Geteuid() == 0 && !strings.Contains(text, "its output: write /usr/lib/hostile") {
		t.Errorf("%q", text)
	}
	if res, _ = r.run("exit", "0"); len(res.Refused) > 0 {
		t.Errorf("%q", res.Refused)
	}
}

// TestTwoAtOnce runs commands beside each other: one's limits are none of the other's.
func TestTwoAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		done := make(chan Result)
		go func() {
			var out bytes.Buffer
			c := r.command(r.hostile, "-do=memory")
			c.Stdout = &out
			res, _ := r.Run(r.ctx, c)
			done <- res
		}()
		for range 5 {
			if res, out := r.run("nothing"); res.Code != 0 || res.Stopped != "" {
				r.t.Errorf("%+v\n%s", res, out)
			}
		}
		if res := <-done; res.Stopped != Memory {
			r.t.Errorf("%+v", res)
		}
	})
}

// TestKilled kills the process that runs a sandbox, at many moments, and requires that
// no process and no mount is left.
func TestKilled(t *testing.T) {
	if os.Getenv("TRACERAG_TEST_VICTIM") != "" {
		r := newRig(t, os.Getenv("TRACERAG_TEST_VICTIM"))
		io.WriteString(os.Stdout, "hostile="+r.hostile+"\n")
		c := r.command(r.hostile, "-do=daemon", filepath.Join(r.scratch, "daemon"))
		for {
			r.Run(context.Background(), c)
		}
	}
	exe, err := os.Executable()
	must(t, err)
	each(t, func(r *rig) {
		n := 6
		if testing.Short() {
			n = 3
		}
		for i := range n {
			dir := r.t.TempDir()
			cmd := exec.Command(exe, "-test.run=^TestKilled$")
			cmd.Env = append(os.Environ(), "TRACERAG_TEST_VICTIM="+r.mechanism, "TMPDIR="+dir, hostileVariable+"="+r.hostile)
			out, err := cmd.StdoutPipe()
			must(r.t, err)
			must(r.t, cmd.Start())
			buf := make([]byte, 4096)
			size, err := out.Read(buf)
			_, path, ok := strings.Cut(strings.TrimSpace(string(buf[:size])), "hostile=")
			if !ok {
				r.t.Fatalf("%v %q", err, buf[:size])
			}
			time.Sleep(time.Duration(i) * 47 * time.Millisecond)
			cmd.Process.Kill()
			cmd.Wait()
			deadline := time.Now().Add(5 * time.Second)
			for len(hostiles(path)) > 0 && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
			}
			if left := hostiles(path); len(left) > 0 {
				r.t.Errorf("killed after %d ms: %d processes are left", i*47, len(left))
				for _, pid := range left {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), dir) {
				r.t.Errorf("mounts are left")
			}
		}
	})
}

// TestUnread: an inner step that never reads its order ends with the context, however large the order is.
func TestUnread(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the grace of an inner step")
	}
	t.Parallel()
	s := New([]string{"sleep", "20"})
	s.only = watched
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	start := time.Now()
	c := Command{Args: []string{"true"}, Dir: t.TempDir(), Env: []string{"LARGE=" + strings.Repeat("x", 1<<20)}}
	res, err := s.Run(ctx, c)
	if res.Stopped != Interrupted || time.Since(start) > 15*time.Second {
		t.Errorf("%+v, %v after %s", res, err, time.Since(start))
	}
}

// TestTriedWithin: what the machine permits is tried in the command's own directories. So a process that is killed
// meanwhile leaves nothing elsewhere.
func TestTriedWithin(t *testing.T) {
	r := newRig(t, "")
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	c := r.command("/bin/true")
	if res, err := r.Run(r.ctx, c); err != nil || res.Code != 0 {
		t.Errorf("%v %+v", err, res)
	}
	for _, m := range r.tried {
		if m.refused != nil && strings.Contains(m.refused.Error(), missing) {
			t.Errorf("%s: %v", m.name, m.refused)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.Temp, "tracerag-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
