package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/summary"
)

// Summaries is how a worker makes summaries.
type Summaries struct {
	// Model returns the model, for a session: with what keeps its answers, and the rate and the ceiling that it has in
	// common with the other workers.
	Model func(keep metered.Keeper, shared throttle.Shared) (*metered.Model, error)
	Learn func(texts []string)     // see [summary.Maker]
	Mask  func(text string) string // see [summary.Book]
}

// NoCeilingError says that a model costs money, and that nobody has said how much a day.
type NoCeilingError struct{ Model string }

func (e *NoCeilingError) Error() string { return e.Model + NoCeiling }

// NoCeiling ends the text of a [NoCeilingError], also that of a job that failed for it.
const NoCeiling = " costs money, and no ceiling for a day is set for it"

// summarise makes the summaries that a repository lacks. Those of a declaration that another worker makes at the same
// time, for a repository that has it too, are waited for.
func (s *session) summarise(ctx context.Context, t Task) error {
	r, unlock, err := s.hold(ctx, t)
	if err != nil {
		return err
	}
	defer unlock()
	model, err := s.Summaries.Model(s.Store, pace{s})
	if err != nil {
		return err
	}
	if err := s.affordable(ctx, model.Name()); err != nil {
		return err
	}
	k := &summary.Maker{Model: model, Parallel: 2, Learn: s.Summaries.Learn, Claim: s.claim, Book: &summary.Book{Store: s.Store, Kept: s.Store, Model: model.Name(), Mask: s.Summaries.Mask,
		Read: func(r *knowledge.Repository, path string) ([]byte, error) { return s.text(ctx, r, path) }}}
	files, err := summary.Program(ctx, s.Store, r.ID, "")
	if err != nil {
		return err
	}
	_, err = k.Repository(ctx, &summary.Task{Repository: *r, Files: files})
	return putOff(err)
}

// hold returns the repository of a job that asks a model about it, which no other worker asks about for the same kind of job until
// unlock is called.
func (s *session) hold(ctx context.Context, t Task) (r *knowledge.Repository, unlock func(), err error) {
	all, err := s.Store.Repositories(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(r knowledge.Repository) bool { return r.URL == index.Shown(t.What) })
	if i < 0 {
		return nil, nil, &FinalError{fmt.Errorf("%s is not indexed any more", t.What)}
	}
	unlock, ok, err := s.Store.TryLockName(ctx, string(t.Kind)+" "+t.What)
	if err == nil && !ok {
		err = &laterError{after: time.Second}
	}
	return &all[i], unlock, err
}

// text is a file as it was indexed: the clone may have another one by now, or be another machine's.
func (s *session) text(ctx context.Context, r *knowledge.Repository, path string) ([]byte, error) {
	return s.Store.Text(ctx, r.ID, path)
}

// putOff puts a job off until the next day of UTC whose model may be asked nothing more on this one.
func putOff(err error) error {
	if errors.Is(err, throttle.ErrCeiling) {
		return &laterError{untilTomorrow(time.Now()), err.Error()}
	}
	return err
}

// affordable refuses a model with a known price that has no ceiling.
func (s *session) affordable(ctx context.Context, model string) error {
	if _, priced := llm.EstimateCost(model, llm.Usage{PromptTokens: 1}); !priced {
		return nil
	}
	limits, err := s.queue.Limits(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(limits, func(l Limit) bool { return l.Model == model && (l.Cost > 0 || l.Tokens > 0) }) {
		return nil
	}
	return &NoCeilingError{model}
}

// claim waits until this worker alone makes some summaries, or vectors: all of them or none, so that no two wait for each other.
func (s *session) claim(ctx context.Context, keys []knowledge.SummaryKey) (release func(), err error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b knowledge.SummaryKey) int { // locks are taken in one order
		return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Level, b.Level))
	})
	keys = slices.Compact(keys)
	levels, hashes := make([]int32, len(keys)), make([][]byte, len(keys))
	for i, k := range keys {
		levels[i], hashes[i] = int32(k.Level), k.Hash[:]
	}
	for {
		err := s.Store.Transaction(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "INSERT INTO claim (project, level, hash, worker) SELECT $1, x.*, $4 FROM unnest($2::int[], $3::bytea[]) x ON CONFLICT DO NOTHING", s.queue.project, levels, hashes, s.ID)
			if err == nil && tag.RowsAffected() < int64(len(keys)) {
				err = errClaimed
			}
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errClaimed) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// If it fails the session is over, and the claims end with it.
		_ = s.Store.Transaction(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM claim c USING unnest($1::int[], $2::bytea[]) x (level, hash) WHERE c.level = x.level AND c.hash = x.hash AND c.worker = $3", levels, hashes, s.ID)
			return err
		})
	}, nil
}

// errClaimed says that another worker makes one of them.
var errClaimed = errors.New("claimed")
