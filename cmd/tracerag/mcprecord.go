package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tracerag/mcp"
	"tracerag/trace/store"
)

// An agent's program is run by a tracerag run of its own. The server's standard output
// is the protocol's, and the recorder takes signals and a thread of its own: neither
// is to be shared with a program that may do anything.

// commandRecorder runs one command at a time: recordings at the same time would
// disturb each other's time limits.
type commandRecorder struct {
	store *store.Store
	busy  chan struct{}
}

func newCommandRecorder(s *store.Store) *commandRecorder {
	return &commandRecorder{s, make(chan struct{}, 1)}
}

const (
	// recordGrace is how long a recorder may take beyond the program's limit, for
	// reading a large program before and a large trace afterwards.
	recordGrace = 30 * time.Second
	// cancelGrace is how long an agent that has called the run off waits for what
	// was recorded.
	cancelGrace = 5 * time.Second
)

// record runs and records a command, which the server has checked.
func (r *commandRecorder) record(ctx context.Context, c mcp.Command) (*mcp.Recorded, error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	started := false
	defer func() {
		if !started {
			<-r.busy
		}
	}()
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tracerag-")
	if err != nil {
		return nil, err
	}
	ids := filepath.Join(dir, "ids")
	args := []string{"run", "--quiet", "--dir=" + r.store.Dir(), "--id-file=" + ids, "--time-limit=" + c.Timeout.String()}
	if len(c.Baseline) > 0 {
		args = append(args, "--baseline="+commandLine(c.Baseline))
	}
	for _, v := range c.Values {
		args = append(args, "--values="+csvField(v))
	}
	cmd := exec.Command(exe, append(append(args, "--"), c.Args...)...)
	cmd.Dir = c.Dir
	var out ends
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 2 * time.Second // for what the program left running with our pipe
	start := time.Now()
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	started = true
	late := time.AfterFunc(c.Timeout+recordGrace, func() { _ = cmd.Process.Kill() })
	var saved []string
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		late.Stop()
		data, _ := os.ReadFile(ids) // missing if nothing was recorded
		saved = strings.Fields(string(data))
		os.RemoveAll(dir)
		<-r.busy
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		// The program is asked to end; whether it does or not, its limit holds.
		askToEnd(cmd.Process)
		select {
		case <-ended:
		case <-time.After(cancelGrace):
		}
		return nil, errors.New("the run was called off")
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	return &mcp.Recorded{
		IDs: saved, Code: cmd.ProcessState.ExitCode(), TimedOut: time.Since(start) >= c.Timeout, Output: out.String(),
	}, nil
}

// csvField writes a value of a flag that takes several, separated by commas.
func csvField(s string) string {
	if strings.ContainsAny(s, "\",\n\r") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// endsBytes is how much is kept of each end of what a program prints.
const endsBytes = 64 << 10

// ends keeps the beginning and the end of what is written to it.
type ends struct {
	mu     sync.Mutex
	first  []byte
	last   []byte
	passed int64 // bytes between them
}

func (e *ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	room := min(len(p), endsBytes-len(e.first))
	e.first = append(e.first, p[:room]...)
	e.last = append(e.last, p[room:]...)
	if over := len(e.last) - endsBytes; over > endsBytes { // not at every write
		e.passed += int64(over)
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return n, nil
}

func (e *ends) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, passed := e.last, e.passed
	if over := len(last) - endsBytes; over > 0 {
		last, passed = last[over:], passed+int64(over)
	}
	middle := ""
	if passed > 0 {
		middle = fmt.Sprintf("\n[%d bytes left out]\n", passed)
	}
	return strings.ToValidUTF8(string(e.first)+middle+string(last), "\uFFFD")
}
