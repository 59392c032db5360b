package record

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tracerag/trace/store"
)

// Queue records programs for callers that do not share their own process, such as
// a server whose standard output is a protocol's: each in a process of its own, and one
// after the other, since recordings at the same time would use up each other's time
// limits.
type Queue struct {
	store *store.Store
	self  []string
	free  chan struct{}   // holds an element while nothing runs
	done  context.Context // ends with the Queue
	end   func()
}

const (
	// recordGrace is how long a recorder may take beyond the program's limit, for
	// reading a large program before and a large trace afterwards.
	recordGrace = 30 * time.Second
	// cancelGrace is how long is waited for a run that was called off. Its own limit
	// ends a program that does not want to end.
	cancelGrace = 5 * time.Second
)

// errCalledOff is the error of a run that the caller did not wait for.
var errCalledOff = errors.New("the run was called off")

// NewQueue returns a Queue of recordings into a store. self is a command line that ends
// in a [Job] after a directory is added.
func NewQueue(s *store.Store, self []string) *Queue {
	q := &Queue{store: s, self: self, free: make(chan struct{}, 1)}
	q.done, q.end = context.WithCancel(context.Background())
	q.free <- struct{}{}
	return q
}

// Close ends what runs, and waits for it a while.
func (q *Queue) Close() {
	q.end()
	select {
	case <-q.free:
	case <-time.After(cancelGrace):
	}
}

// Recorded is what became of a recording in a process of its own.
type Recorded struct {
	Traces   []string // their names
	Code     int      // the exit code of tracerag run
	TimedOut bool     // the time limit ended the program
	Output   string   // what the program and the recorder printed
	LeftOut  int64    // bytes of it that were not kept, from its middle
}

// Record records what a Spec says, which must have a time limit.
func (q *Queue) Record(ctx context.Context, spec Spec) (*Recorded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.done, cancel)()
	select {
	case <-q.free:
	case <-ctx.Done():
		return nil, errCalledOff
	}
	run, err := q.start(spec)
	if err != nil {
		q.free <- struct{}{}
		return nil, err
	}
	go func() {
		run.wait()
		q.free <- struct{}{}
	}()
	select {
	case <-run.ended:
		return run.recorded, run.err
	case <-ctx.Done():
	}
	askToEnd(run.child.Cmd.Process)
	select {
	case <-run.ended:
	case <-time.After(cancelGrace):
	}
	return nil, errCalledOff
}

// queued is a recording that runs.
type queued struct {
	store *store.Store
	limit time.Duration
	child *Child
	out   Ends
	began time.Time

	ended    chan struct{} // closed when the fields below are set
	recorded *Recorded
	err      error
}

func (q *Queue) start(spec Spec) (*queued, error) {
	run := &queued{store: q.store, limit: spec.Limit, began: time.Now(), ended: make(chan struct{})}
	var err error
	if run.child, err = NewChild(context.Background(), q.self, spec); err != nil {
		return nil, err
	}
	cmd := run.child.Cmd
	cmd.Stdout, cmd.Stderr = &run.out, &run.out
	apart(cmd)
	cmd.WaitDelay = 2 * time.Second // for what the program left running with our pipe
	if err := cmd.Start(); err != nil {
		run.child.Close()
		return nil, err
	}
	return run, nil
}

// wait waits for the run's end.
func (run *queued) wait() {
	defer close(run.ended)
	defer run.child.Close()
	cmd := run.child.Cmd
	late := time.AfterFunc(run.limit+recordGrace, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	late.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		run.err = err
		return
	}
	rec := &Recorded{Code: cmd.ProcessState.ExitCode()}
	if report, err := run.child.Report(); err == nil { // or it was killed
		rec.Traces, rec.Code = report.Traces, report.Code
	}
	rec.TimedOut = time.Since(run.began) >= run.limit && run.killed(rec.Traces)
	rec.Output, rec.LeftOut = run.out.Text()
	run.recorded = rec
}

// killed reports whether the program was killed, or none was started. The time alone
// does not tell that a limit ended it: saving a large trace takes time, too.
func (run *queued) killed(traces []string) bool {
	for _, name := range traces {
		if tr, _, err := run.store.Load(name); err == nil && tr.Exit.Signal != "" {
			return true
		}
	}
	return len(traces) == 0
}

// endsBytes is how much is kept of each end of what a program prints.
const endsBytes = 64 << 10

// Ends keeps the beginning and the end of what is written to it.
type Ends struct {
	mu     sync.Mutex
	first  []byte
	last   []byte
	passed int64 // bytes between them
}

func (e *Ends) Write(p []byte) (int, error) {
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

// Text returns what is kept, and how many bytes are missing in the middle of it.
func (e *Ends) Text() (kept string, missing int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.last
	missing = e.passed
	if over := len(last) - endsBytes; over > 0 {
		last, missing = last[over:], missing+int64(over)
	}
	return strings.ToValidUTF8(string(e.first)+string(last), "\uFFFD"), missing
}
