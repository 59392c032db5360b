package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/trace/store"
)

// Recordings is how a worker records tests: in a copy of the commit's files, in a sandbox, each test in a run of its
// own. The code of a repository is code that nobody has read.
type Recordings struct {
	Program string // the file of tracerag, which records there
	// Command is what has the program, by the name that it has in the sandbox, record each test of a go test command into a directory.
	Command func(program, traces string, test []string) []string
	Box
	Each time.Duration // how long a test may take
	Keep int           // of each test, so many traces; 0: all
	// Reader returns what reads the traces of a directory, as they are kept: without secrets. What it does not take is left out.
	Reader func(*store.Store) func(e store.Entry, commit string) (knowledge.KeptTrace, []byte, knowledge.Executed, error)
}

// Recorded is what became of the tests of a commit.
type Recorded struct {
	URL     string    `json:"url"`
	Commit  string    `json:"commit"`
	Tests   int       `json:"tests"`             // that have a trace
	Failed  int       `json:"failed"`            // of these
	Problem string    `json:"problem,omitempty"` // why not all of them have one
	Ended   time.Time `json:"ended"`
}

// Recorded lists the commit of each followed URL that was recorded last.
func (q *Queue) Recorded(ctx context.Context) ([]Recorded, error) {
	rows, err := q.pool.Query(ctx, `SELECT DISTINCT ON (r.url) r.url, r.revision, r.tests, r.failed, r.problem, r.ended
		FROM recorded r JOIN followed f ON f.url = r.url ORDER BY r.url, r.ended DESC`)
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Recorded])
	return list, q.store.Explain(ctx, err)
}

func (q *Queue) isRecorded(ctx context.Context, url, commit string) (known bool, err error) {
	err = q.pool.QueryRow(ctx, "SELECT count(*) > 0 FROM recorded WHERE url = $1 AND revision = $2", url, commit).Scan(&known)
	return known, q.store.Explain(ctx, err)
}

// record records the tests of the commit that a git URL has now, unless that was done. All traces are kept, or none:
// a worker that is killed before leaves nothing.
func (s *session) record(ctx context.Context, t Task) error {
	if err := s.allowed(t.What); err != nil {
		return &FinalError{err}
	}
	if old, err := s.queue.superseded(ctx, t); old || err != nil {
		return err
	}
	if done, err := s.queue.isRecorded(ctx, t.What, t.Version); done || err != nil {
		return err
	}
	unlock, ok, err := s.Store.TryLockName(ctx, "record "+t.What)
	if err != nil {
		return err
	}
	if !ok {
		return &laterError{after: time.Second}
	}
	defer unlock()
	tree, modules, commit, err := s.copyCommit(ctx, t.What, &s.Recordings.Box)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	if done, err := s.queue.isRecorded(ctx, t.What, commit); done || err != nil {
		return err
	}
	err = tree.Use(ctx, patch.Patch{}, func(c *trial.Copy) error {
		traces, problems, err := s.recordIn(ctx, c, modules)
		if err != nil {
			return err
		}
		return s.keepTraces(ctx, store.Open(traces), Recorded{URL: t.What, Commit: commit}, problems)
	})
	if err == nil && s.Recordings.Keep > 0 {
		_, err = s.Store.DropTraces(ctx, s.Recordings.Keep)
	}
	return err
}

// recordIn records the tests of modules in a copy, and returns the directory of the traces and why some have none.
func (s *session) recordIn(ctx context.Context, c *trial.Copy, modules []string) (traces string, problems []string, err error) {
	// Before any test runs: nothing that one writes is read by a command outside of the sandbox.
	if problems, err = downloads(ctx, c, modules); err != nil {
		return "", nil, err
	}
	work, err := workspace(c.Root)
	if err != nil {
		return "", nil, &FinalError{err}
	}
	tool, err := c.Tool(s.Recordings.Program)
	if err != nil {
		return "", nil, err
	}
	if traces, err = c.Scratch(); err != nil {
		return "", nil, err
	}
	for _, m := range modules {
		var env []string
		if !work[m] {
			env = []string{"GOWORK=off"}
		}
		args := s.Recordings.Command(tool, traces, []string{c.Go(), "test", "-count=1", "-vet=off", "-timeout=" + s.Recordings.Each.String(), "./..."})
		before := countFiles(traces)
		code, said, err := c.Run(ctx, m, args, env, traces)
		stopped, ended := errors.AsType[*trial.StoppedError](err)
		problem := ""
		switch {
		case ended:
			problem = fmt.Sprintf("%v: tests that had not ended have no trace", stopped)
		case err != nil:
			return "", nil, err
		case code != 0 && countFiles(traces) == before:
			problem = "no test was recorded: " + lastLines(said, 3)
		default:
			problem = notBuilt(said)
		}
		if problem != "" && m != "." {
			problem = m + ": " + problem
		}
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	return traces, problems, nil
}

// mostRecorded is how many traces of a commit are kept. Tests can write as many as they like.
const mostRecorded = 20_000

// keepTraces keeps the traces of a directory, and that a commit is recorded: all or nothing.
func (s *session) keepTraces(ctx context.Context, traces *store.Store, r Recorded, problems []string) error {
	if err := onlyFiles(traces.Dir()); err != nil {
		return err
	}
	entries, err := traces.List()
	if err != nil {
		return err
	}
	if len(entries) == 0 && len(problems) > 0 {
		return &FinalError{errors.New(strings.Join(problems, "\n"))}
	}
	if more := len(entries) - mostRecorded; more > 0 {
		problems = append(problems, fmt.Sprintf("%s left out", phrase.Plural(more, "trace was", "traces were")))
		entries = entries[:mostRecorded]
	}
	read := s.Recordings.Reader(traces)
	return s.Store.PushTraces(ctx, func(push func(knowledge.KeptTrace, []byte, knowledge.Executed) error) error {
		r.Tests, r.Failed, r.Problem = 0, 0, ""
		left, why := 0, error(nil)
		for _, e := range entries {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			k, file, executed, err := read(e, r.Commit)
			if err != nil {
				left, why = left+1, cmp.Or(why, err)
				continue
			}
			if err := push(k, file, executed); err != nil {
				return err
			}
			r.Tests++
			if !k.Passed {
				r.Failed++
			}
		}
		all := problems
		if left > 0 {
			all = append(all[:len(all):len(all)], fmt.Sprintf("%s left out: %v", phrase.Plural(left, "trace was", "traces were"), why))
		}
		r.Problem = s.Mask(strings.Join(all, "\n"))
		return nil
	}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO recorded (project, url, revision, tests, failed, problem) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING", s.queue.project, r.URL, r.Commit, r.Tests, r.Failed, postgresText(r.Problem))
		return err
	})
}

// postgresText is a text without what PostgreSQL does not keep in one.
func postgresText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// notBuilt names the packages that go test could not build, from what it printed.
func notBuilt(said string) string {
	var names []string
	for line := range strings.Lines(said) {
		f := strings.Fields(line)
		if len(f) == 4 && f[0] == "FAIL" && (f[2] == "[build" || f[2] == "[setup") && f[3] == "failed]" {
			names = append(names, f[1])
		}
	}
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	if len(names) == 0 {
		return ""
	}
	return "not built: " + strings.Join(names, ", ")
}

// lastLines are the last lines of an output, on one.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return phrase.Cut(strings.Join(lines[max(0, len(lines)-n):], " / "), 500)
}

// countFiles counts what is in a directory.
func countFiles(dir string) int {
	entries, _ := os.ReadDir(dir)
	n := 0
	for _, e := range entries {
		if e.Type().IsRegular() && path.Ext(e.Name()) == ".gz" {
			n++
		}
	}
	return n
}
