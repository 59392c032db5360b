//go:build unix

package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
)

// TestHangs takes the jobs of a worker away that is silent for too long, though its connection is there. When it goes on it
// can write nothing.
func TestHangs(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	var released []int32
	release := func(_ context.Context, _ pgx.Tx, worker int32) error {
		released = append(released, worker)
		return nil
	}
	join := func() *Session {
		t.Helper()
		l, err := Parse(owner.URL())
		if err != nil {
			t.Fatal(err)
		}
		s, err := Join(ctx, l, Options{}, []string{"index"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Leave(context.WithoutCancel(ctx), release) })
		return s
	}
	silent, other := join(), join()
	if err := other.Rescue(ctx, release); err != nil || len(released) > 0 {
		t.Fatalf("released: %v, %v", released, err)
	}
	defer func(d time.Duration) { hangs = d }(hangs)
	hangs = time.Second
	time.Sleep(1200 * time.Millisecond)
	if err := other.Rescue(ctx, release); err != nil || !slices.Equal(released, []int32{silent.ID}) {
		t.Fatalf("released: %v, %v", released, err)
	}
	var lost *LostError
	if err := silent.Beat(ctx); !errors.As(err, &lost) {
		t.Errorf("it does not notice: %v", err)
	}
	if _, err := knowledgetest.TryFill(silent.Store, "a.go", "F"); !errors.As(err, &lost) {
		t.Errorf("it writes: %v", err)
	}
	if err := other.Beat(ctx); err != nil {
		t.Error(err)
	}
	knowledgetest.Fill(t, other.Store, "a.go", "F")
}

// TestLocksEnd takes a lock as soon as the one before has ended it.
func TestLocksEnd(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.Shared(t).Database(t).URL(), Options{})
	for range 50 {
		end, ok, err := s.TryLockName(ctx, "index x")
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		if _, ok, err := s.TryLockName(ctx, "index x"); err != nil || ok {
			t.Fatalf("it is had twice: %v, %v", ok, err)
		}
		end()
		end, err = s.Lock(ctx, func() { t.Error("somebody else has it") })
		if err != nil {
			t.Fatal(err)
		}
		end()
	}
}
