package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tracerag/mcp"
	"tracerag/phrase"
	"tracerag/trace/store"
)

// An agent's program is run by a tracerag run of its own. The server's standard output
// is the protocol's, and the recorder takes signals and a thread of its own: neither
// is to be shared with a program that may do anything.

// commandRecorder runs one command at a time: recordings at the same time would use up
// each other's time limits.
type commandRecorder struct {
	store *store.Store
	free  chan struct{}   // holds an element while nothing runs
	done  context.Context // ends with the server
	close func()          // ends what runs, and waits for it a while
}

const (
	// recordGrace is how long a recorder may take beyond the program's limit, for
	// reading a large program before and a large trace afterwards.
	recordGrace = 30 * time.Second
	// cancelGrace is how long is waited for a run that was called off. Its own limit
	// ends a program that does not want to end.
	cancelGrace = 5 * time.Second
)

func newCommandRecorder(s *store.Store) *commandRecorder {
	done, end := context.WithCancel(context.Background())
	r := &commandRecorder{store: s, free: make(chan struct{}, 1), done: done}
	r.free <- struct{}{}
	r.close = func() {
		end()
		select {
		case <-r.free:
		case <-time.After(cancelGrace):
		}
	}
	return r
}

// record runs and records a command, which the server has checked.
func (r *commandRecorder) record(ctx context.Context, c mcp.Command) (*mcp.Recorded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.done, cancel)()
	select {
	case <-r.free:
	case <-ctx.Done():
		return nil, errCalledOff
	}
	run, err := r.start(c)
	if err != nil {
		r.free <- struct{}{}
		return nil, err
	}
	go func() {
		run.wait()
		r.free <- struct{}{}
	}()
	select {
	case <-run.ended:
		return run.recorded, run.err
	case <-ctx.Done():
	}
	askToEnd(run.cmd.Process)
	select {
	case <-run.ended:
	case <-time.After(cancelGrace):
	}
	return nil, errCalledOff
}

var errCalledOff = errors.New("the run was called off")

// commandRun is a command that runs.
type commandRun struct {
	store   *store.Store
	command mcp.Command
	cmd     *exec.Cmd
	dir     string // for the file of ids
	out     ends
	began   time.Time

	ended    chan struct{} // closed when the fields below are set
	recorded *mcp.Recorded
	err      error
}

func (r *commandRecorder) start(c mcp.Command) (*commandRun, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	run := &commandRun{store: r.store, command: c, began: time.Now(), ended: make(chan struct{})}
	if run.dir, err = os.MkdirTemp("", "tracerag-"); err != nil {
		return nil, err
	}
	args := []string{"run", "--quiet", "--dir=" + r.store.Dir(), "--id-file=" + run.idFile(), "--time-limit=" + c.Timeout.String()}
	if len(c.Baseline) > 0 {
		args = append(args, "--baseline="+phrase.CommandLine(c.Baseline))
	}
	for _, v := range c.Values {
		args = append(args, "--values="+csvField(v))
	}
	run.cmd = exec.Command(exe, append(append(args, "--"), c.Args...)...)
	run.cmd.Dir = c.Dir
	run.cmd.Stdout, run.cmd.Stderr = &run.out, &run.out
	run.cmd.WaitDelay = 2 * time.Second // for what the program left running with our pipe
	if err := run.cmd.Start(); err != nil {
		os.RemoveAll(run.dir)
		return nil, err
	}
	return run, nil
}

func (run *commandRun) idFile() string { return filepath.Join(run.dir, "ids") }

// wait waits for the run's end.
func (run *commandRun) wait() {
	defer close(run.ended)
	defer os.RemoveAll(run.dir)
	late := time.AfterFunc(run.command.Timeout+recordGrace, func() { _ = run.cmd.Process.Kill() })
	err := run.cmd.Wait()
	late.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		run.err = err
		return
	}
	ids, _ := os.ReadFile(run.idFile()) // missing if nothing was recorded
	run.recorded = &mcp.Recorded{
		IDs: strings.Fields(string(ids)), Code: run.cmd.ProcessState.ExitCode(),
	}
	run.recorded.TimedOut = time.Since(run.began) >= run.command.Timeout && run.killed()
	run.recorded.Output, run.recorded.LeftOut = run.out.text()
}

// killed reports whether the program was killed, or none was started. The time alone
// does not tell that a limit ended it: saving a large trace takes time, too.
func (run *commandRun) killed() bool {
	if len(run.recorded.IDs) == 0 {
		return true
	}
	for _, id := range run.recorded.IDs {
		if tr, _, err := run.store.Load(id); err == nil && tr.Exit.Signal != "" {
			return true
		}
	}
	return false
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
	room := min(len(p), endsBytes-len(e.first))
	e.first = append(e.first, p[:room]...)
	e.last = append(e.last, p[room:]...)
	if over := len(e.last) - endsBytes; over > endsBytes { // not at every write
		e.passed += int64(over)
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return len(p), nil
}

// text returns what is kept, and how many bytes are missing in the middle of it.
func (e *ends) text() (kept string, missing int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.last
	missing = e.passed
	if over := len(last) - endsBytes; over > 0 {
		last, missing = last[over:], missing+int64(over)
	}
	return strings.ToValidUTF8(string(e.first)+string(last), "\uFFFD"), missing
}
