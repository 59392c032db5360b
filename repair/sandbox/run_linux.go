package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The mechanisms, the strongest first.
const (
	namespaces = "namespaces" // the command has processes, mounts and network of its own
	landlock   = "landlock"   // the kernel refuses it files, connections and signals
	watched    = "watched"    // it is watched and killed
)

// grace is how long the inner step has to end what it started.
const grace = 10 * time.Second

func (s *Sandbox) run(ctx context.Context, c Command) (Result, error) {
	if len(s.self) == 0 {
		return s.plain(ctx, c)
	}
	if s.only != "" {
		return s.inside(ctx, c, s.only)
	}
	// Whoever made the command's directories removes them, also if this process is killed.
	for _, m := range s.mechanisms(ctx, c.Temp) {
		if m.refused == nil {
			return s.inside(ctx, c, m.name)
		}
	}
	return s.plain(ctx, c)
}

// inside runs a command by the inner step.
func (s *Sandbox) inside(ctx context.Context, c Command, mechanism string) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kept := newKept(c, func() { cancel(ended(Output)) })
	orders, orderEnd, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	defer orders.Close()
	defer orderEnd.Close()
	reports, reportEnd, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	defer reports.Close()
	defer reportEnd.Close()

	if mechanism == namespaces {
		c.Layers = withWork(c.Layers)
		defer func() {
			for _, l := range c.Layers {
				_ = os.RemoveAll(l.Work)
			}
		}()
	}

	cmd := exec.Command(s.self[0], s.self[1:]...)
	cmd.Env = []string{"GODEBUG=" + os.Getenv("GODEBUG"), "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = kept.writer(c.Stdout), kept.writer(c.Stderr)
	cmd.ExtraFiles = []*os.File{orders, reportEnd}
	cmd.SysProcAttr = attributes(mechanism, c.Network)
	cmd.WaitDelay = grace // what has left the sandbox may hold its output open

	// The parent whose death is signalled is the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("sandbox: starting %s with %s: %w", s.self[0], mechanism, err)
	}
	orders.Close()
	reportEnd.Close()
	o := order{Mechanism: mechanism, Root: os.Geteuid() == 0, Command: inner{Args: c.Args, Env: c.Env, Write: c.Write, Hide: c.Hide, Read: c.Read, Dir: c.Dir, Temp: c.Temp, Layers: c.Layers, Limits: c.Limits}}
	o.Command.Limits.Output = 0

	over := make(chan struct{})
	go func() {
		limit := make(<-chan time.Time)
		if c.Time > 0 {
			limit = time.After(c.Time + grace)
		}
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-limit: // the inner step should have ended it
			cancel(ended(Time))
		}
		orderEnd.Close()
		select {
		case <-over:
		case <-time.After(grace):
			cmd.Process.Kill()
		}
	}()
	// After the limits: an inner step that never reads would keep this waiting for a large order.
	sent := json.NewEncoder(orderEnd).Encode(o)
	var r report
	got := json.NewDecoder(reports).Decode(&r)
	werr := cmd.Wait()
	close(over)
	res := Result{Code: r.Code, Stopped: r.Stopped, CPU: r.CPU, Memory: r.Memory, Wall: time.Since(start), Refused: append(r.Refused, kept.refused()...), Unlayered: r.Unlayered}
	if ctx.Err() != nil {
		res.Stopped = reason(ctx)
	}
	switch {
	case got == nil && r.Missing:
		return res, fmt.Errorf("sandbox: %s: %w", r.Failed, exec.ErrNotFound)
	case got == nil && r.Failed != "":
		return res, fmt.Errorf("sandbox: %s", r.Failed)
	case got == nil:
		return res, nil
	case res.Stopped != "":
		res.Code = 128 + int(syscall.SIGKILL)
		return res, nil
	case sent != nil:
		return res, fmt.Errorf("sandbox: %s did not start its inner step: %w", s.self[0], errors.Join(sent, werr))
	}
	return res, fmt.Errorf("sandbox: the inner step ended without a report, perhaps for lack of memory or processes: %w", werr)
}

// withWork makes the directories that the kernel needs to lay layers, one for each command: laying another one with the
// same directory empties it, and what the first is about to create is gone. What killed processes left is removed.
func withWork(layers []Layer) []Layer {
	layers = slices.Clone(layers)
	for i, l := range layers {
		left, _ := filepath.Glob(l.Dir + ".work-*")
		for _, dir := range left {
			name, _, _ := strings.Cut(strings.TrimPrefix(dir, l.Dir+".work-"), "-")
			if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				_ = os.RemoveAll(dir)
			}
		}
		// Without it, Dir shows what is in itself.
		layers[i].Work, _ = os.MkdirTemp(filepath.Dir(l.Dir), fmt.Sprintf("%s.work-%d-*", filepath.Base(l.Dir), os.Getpid()))
	}
	return layers
}

// attributes is how the inner step is started: as the first process of its
// own namespaces, with the rights in them that it needs to arrange them.
func attributes(mechanism string, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if mechanism != namespaces {
		return a // it must outlive its parent, to end what it started
	}
	a.Pdeathsig = syscall.SIGKILL // the kernel ends all others with a namespace's first process
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		// All users, as far as they are known here: its programs may change owners.
		a.UidMappings, a.GidMappings = idMap("uid"), idMap("gid")
		a.GidMappingsEnableSetgroups = true
		return a
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	a.AmbientCaps = slices.Clone(setup)
	return a
}

// idMap is every user or group of this namespace as itself.
func idMap(kind string) (list []syscall.SysProcIDMap) {
	text, _ := os.ReadFile("/proc/self/" + kind + "_map")
	for line := range strings.Lines(string(text)) {
		var in, out, n int
		if _, err := fmt.Sscan(line, &in, &out, &n); err == nil {
			list = append(list, syscall.SysProcIDMap{ContainerID: in, HostID: in, Size: n})
		}
	}
	if len(list) == 0 {
		list = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	}
	return list
}
