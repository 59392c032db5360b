package sources

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
	"tracerag/locate"
)

// TestSources: nothing is indexed by a question, a store is opened once, and what changed is
// known to the next question.
func TestSources(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/shop\n\ngo 1.26\n")
	write("pay.go", "package shop\n\n// Pay charges the customer.\nfunc Pay() {}\n")
	opened := 0
	k := New(func(ctx context.Context, mayIndex bool) (index.Store, error) {
		if !mayIndex {
			return nil, knowledge.ErrNotIndexed
		}
		opened++
		s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "knowledge.db"))
		if err != nil {
			return nil, err
		}
		_, err = index.Update(ctx, s, root, index.Options{})
		return s, err
	}, index.Options{})
	ctx := t.Context()
	find := func(text string) (string, error) {
		if _, err := k.Refresh(ctx, false); err != nil {
			return "", err
		}
		a, err := k.Locate(ctx, locate.Question{Text: text}, 1)
		if err != nil || len(a.Functions) == 0 {
			return "", err
		}
		return a.Functions[0].Name, nil
	}
	_, noList := k.Repositories(ctx)
	_, noLookup := k.Lookup(ctx)
	_, noLocate := k.Locate(ctx, locate.Question{Text: "pay"}, 1)
	_, noFind := find("pay")
	for _, err := range []error{noList, noLookup, noLocate, noFind} {
		if !errors.Is(err, knowledge.ErrNotIndexed) {
			t.Errorf("before it is indexed: %v", err)
		}
	}
	for range 2 {
		if err := k.Index(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if name, err := find("charge the customer"); name != "Pay" || err != nil {
		t.Errorf("found %q, %v", name, err)
	}
	write("refund.go", "package shop\n\n// Refund gives the money back.\nfunc Refund() {}\n")
	if name, err := find("money back"); name != "Refund" || err != nil {
		t.Errorf("after a change found %q, %v", name, err)
	}
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if _, err := find("pay"); err == nil {
		t.Error("it answers after it was closed")
	}
}
