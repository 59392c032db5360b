package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/index"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// Candidate is a change that is to be judged.
type Candidate struct {
	ID     string `json:"id"`               // what who asks calls it
	URL    string `json:"url"`              // git URL, with a branch or tag after "#"
	Test   string `json:"test,omitempty"`   // "./pkg:TestX", which fails, and passes with the change; "": none
	Change string `json:"change,omitempty"` // a diff, or files with whole declarations
}

// key names what is asked.
func (c *Candidate) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", c.ID, c.URL, c.Test, c.Change))
	return hex.EncodeToString(sum[:])
}

// Check returns why a change can't be judged by workers.
func (c *Candidate) Check() error {
	if c.ID == "" || strings.TrimSpace(c.Change) == "" {
		return errors.New(`want {"id": "...", "url": "...", "change": "..."}`)
	}
	if _, ok := parseTest(c.Test); c.Test != "" && !ok {
		return fmt.Errorf("%q is no test: want a package and a test, ./pkg:TestX", c.Test)
	}
	return Check(c.URL)
}

// parseTest reads the name of a test.
func parseTest(s string) (trial.TestID, bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || i == len(s)-1 {
		return trial.TestID{}, false
	}
	return trial.TestID{Package: s[:i], Name: s[i+1:]}, true
}

// Tried is a change and what became of it.
type Tried struct {
	Candidate
	Asked   time.Time      `json:"asked"`
	Made    *time.Time     `json:"made,omitempty"`   // when it was judged
	Commit  string         `json:"commit,omitempty"` // that it was tried with
	Verdict *trial.Verdict `json:"verdict,omitempty"`
	Problem string         `json:"problem,omitempty"` // why there is no verdict
}

// Try has workers judge changes, all or none. What was asked before is judged again: the code may have changed. Until then the old
// verdict stays. It returns how many jobs are new. Nothing in a change is secret, and each passes [Candidate.Check].
func (q *Queue) Try(ctx context.Context, list []Candidate, p Priority) (added int, err error) {
	return q.ask(ctx, "candidate", len(list), p, func(tx pgx.Tx, i int) (Task, error) {
		c := Candidate{postgresText(list[i].ID), index.Shown(list[i].URL), postgresText(list[i].Test), postgresText(list[i].Change)}
		_, err := tx.Exec(ctx, "INSERT INTO candidate (project, key, id, url, test, change) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, key) DO UPDATE SET asked = now()",
			q.project, c.key(), c.ID, c.URL, c.Test, c.Change)
		return Task{Try, c.ID, c.key()}, err
	})
}

// Tried lists the changes of some IDs, or all, in the order in which they were asked. The changes themselves are left out.
func (q *Queue) Tried(ctx context.Context, ids []string) ([]Tried, error) {
	rows, err := q.pool.Query(ctx, q.withProblems(Try)+`SELECT c.id, c.url, c.test, c.asked, c.made, c.revision, c.verdict, CASE WHEN c.made IS NULL THEN coalesce(p.text, '') ELSE c.problem END
		FROM candidate c LEFT JOIN problem p ON p.key = c.key WHERE cardinality($1::text[]) = 0 OR c.id = ANY($1) ORDER BY c.asked, c.id, c.key`, append([]string{}, ids...))
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Tried, err error) {
		var verdict *string
		err = row.Scan(&t.ID, &t.URL, &t.Test, &t.Asked, &t.Made, &t.Commit, &verdict, &t.Problem)
		t.Problem = strings.TrimPrefix(t.Problem, finalMark)
		var v trial.Verdict
		if verdict != nil && json.Unmarshal([]byte(*verdict), &v) == nil && v.Given() { // a row may be somebody else's
			t.Verdict = &v
		}
		return t, err
	})
	return list, q.store.Explain(ctx, err)
}

// try judges a change of the commit that its URL has now.
func (s *session) try(ctx context.Context, t Task) error {
	var c Candidate
	err := s.queue.pool.QueryRow(ctx, "SELECT id, url, test, change FROM candidate WHERE key = $1", t.Version).Scan(&c.ID, &c.URL, &c.Test, &c.Change)
	if errors.Is(err, pgx.ErrNoRows) {
		return &FinalError{errors.New("the change was removed meanwhile")}
	}
	if err != nil {
		return s.Store.Explain(ctx, err)
	}
	if err := s.allowed(c.URL); err != nil {
		return &FinalError{err}
	}
	tree, modules, commit, err := s.copyCommit(ctx, c.URL, s.Trials)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	v, err := s.judge(ctx, tree, modules, &c)
	problem := ""
	if isProblem(err) {
		problem = s.Mask(err.Error())
	} else if err != nil {
		return err
	}
	var verdict *string
	if problem == "" {
		text, err := s.maskedVerdict(v)
		if err != nil {
			return err
		}
		verdict = &text
	}
	return s.Store.Transaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE candidate SET made = clock_timestamp(), revision = $2, verdict = $3, problem = $4 WHERE key = $1", t.Version, commit, verdict, postgresText(problem))
		return err
	})
}

// judge says what a change makes of a tree.
func (s *session) judge(ctx context.Context, tree *trial.Trial, modules []string, c *Candidate) (trial.Verdict, error) {
	// Before minutes of tests: is it a change at all?
	p, err := patch.ReadChange(tree.Snapshot(), []byte(c.Change))
	if err != nil {
		return trial.Verdict{}, &notTried{err}
	}
	var wanted []trial.TestID
	if w, ok := parseTest(c.Test); ok {
		wanted = append(wanted, w)
	}
	// Modules that the change adds are not fetched: it could name any.
	if err := tree.Use(ctx, patch.Patch{}, func(copy *trial.Copy) error {
		_, err := downloads(ctx, copy, modules)
		return err
	}); err != nil {
		return trial.Verdict{}, err
	}
	if _, err := tree.Baseline(ctx, wanted...); err != nil {
		return trial.Verdict{}, err
	}
	return tree.Judge(ctx, *p, wanted...)
}

// notTried is why something is no change of a tree.
type notTried struct{ error }

func (e *notTried) Unwrap() error { return e.error }

// isProblem reports whether an error is of what was asked, so that it would come each time.
func isProblem(err error) bool {
	for _, is := range []func(error) bool{isA[*notTried], isA[*trial.NotFailing], isA[*trial.NoSuchTest], isA[*trial.OtherModule], isA[*trial.GoFailed]} {
		if is(err) {
			return true
		}
	}
	return false
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// maskedVerdict is a verdict as it is kept: without secrets, and without times, which are no part of what was found.
func (s *session) maskedVerdict(v trial.Verdict) (string, error) {
	v.Times = nil
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var fields any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	data, err = json.Marshal(maskStrings(fields, s.Mask))
	return postgresText(string(data)), err
}

// maskStrings masks the strings of JSON.
func maskStrings(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return postgresText(mask(v))
	case []any:
		for i := range v {
			v[i] = maskStrings(v[i], mask)
		}
	case map[string]any:
		for k := range v {
			v[k] = maskStrings(v[k], mask)
		}
	}
	return v
}
