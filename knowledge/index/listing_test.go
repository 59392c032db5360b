package index

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/sqlite"
)

// TestListingHasEveryField changes each field of a file's entry: a field that the hash leaves out,
// or that somebody adds, would hide a change.
func TestListingHasEveryField(t *testing.T) {
	whole := code.Entry{Path: "a", Package: "b", Module: 1, Size: 2, Time: time.Unix(3, 4)}
	before := listingOf([]code.Entry{whole})
	var change func(v reflect.Value, name string, e *code.Entry)
	change = func(v reflect.Value, name string, e *code.Entry) {
		old := reflect.ValueOf(v.Interface())
		switch x := v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(x.Add(1)))
		case string:
			v.SetString(x + "x")
		case int, int64:
			v.SetInt(v.Int() + 1)
		case bool:
			v.SetBool(!x)
		default:
			if v.Kind() != reflect.Struct {
				t.Fatalf("%s has a type that the test does not know: %T", name, x)
			}
			for i := range v.NumField() {
				change(v.Field(i), name+"."+v.Type().Field(i).Name, e)
			}
			return
		}
		if listingOf([]code.Entry{*e}) == before {
			t.Errorf("a change of %s changes no listing", name)
		}
		v.Set(old)
	}
	e := whole
	change(reflect.ValueOf(&e).Elem(), "Entry", &e)
	if e != whole {
		t.Fatal("the test does not restore what it changes")
	}
	if listingOf([]code.Entry{whole, whole}) == before {
		t.Error("another file changes no listing")
	}
}

// askedStore counts how often the files' rows are read.
type askedStore struct {
	*sqlite.Store
	asked int
}

func (s *askedStore) Stored(ctx context.Context, id int64) ([]knowledge.Stored, error) {
	s.asked++
	return s.Store.Stored(ctx, id)
}

// TestUnchangedIsToldByTheListing: where nothing changed no file's row is read; every edit is found,
// also one that keeps the size; a file whose time can't tell is read again, until it can.
func TestUnchangedIsToldByTheListing(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	at := time.Now().Add(-time.Hour).Truncate(time.Second).Add(7)
	write := func(name, text string, at time.Time) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * grain(at)) // until the time of the change tells
	}
	write("a.go", "package a\n\nfunc F() {}\n", at)
	write("b.go", "package a\n\nfunc G() {}\n", at)
	file, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "knowledge.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &askedStore{Store: file}
	first, err := Update(ctx, s, dir, Options{})
	if err != nil || first.Repository.Snapshot.Listing == (code.Hash{}) {
		t.Fatalf("indexed %+v, %v", first, err)
	}
	look := func(asked int, what string, changed ...string) {
		t.Helper()
		all, err := s.Repositories(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.asked = 0
		st, err := Stale(ctx, s, all[0])
		if err != nil || len(st.Changed) != len(changed) || len(changed) > 0 && st.Changed[0] != changed[0] || s.asked != asked {
			t.Fatalf("%s: changed are %q, %v; the rows were read %d times, want %q and %d", what, st.Changed, err, s.asked, changed, asked)
		}
		if left, err := Refresh(ctx, s, time.Hour, nil, Options{}); err != nil || len(left) > 0 {
			t.Fatalf("%s: %v, left %v", what, err, left)
		}
	}
	look(0, "nothing changed")
	write("a.go", "package a\n\nfunc H() {}\n", at.Add(1))
	look(1, "an edit of the same size", "a.go")
	look(0, "after it")
	write("c.go", "package a\n", at)
	look(1, "a new file", "c.go")
	look(0, "after that")
	if err := os.Remove(filepath.Join(dir, "c.go")); err != nil {
		t.Fatal(err)
	}
	look(1, "a file less")
	look(0, "then nothing")
	write("a.go", "package a\n\nfunc I() {}\n", time.Now().Add(time.Hour)) // later than now: its time can't tell
	look(1, "an edit at this moment", "a.go")
	look(1, "while its time can't tell")
	write("a.go", "package a\n\nfunc I() {}\n", at)
	look(1, "when it can")
	look(0, "when it could")
}
