//go:build unix

package stores_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/stores"
	"tracerag/locate"
)

// TestElsewhere indexes a directory on one machine, and asks on another one, which has no such files: it finds
// and shows what was indexed, calls nothing stale, and forgets nothing.
func TestElsewhere(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/app\n")
	write("border.go", "package app\n\n// Border draws the border of a table.\nfunc Border() string { return \"+--\\x00\\xff+\" }\n")
	write("other.go", "package app\n\nfunc Other() {}\n")
	on := func(project, host string) knowledge.Store {
		t.Helper()
		l, err := postgres.Parse(owner.URL("project", project))
		if err != nil {
			t.Fatal(err)
		}
		s, err := postgres.Open(ctx, l, postgres.Options{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	here, there := on("one", "here"), on("one", "there")
	if _, err := index.Update(ctx, here, dir, index.Options{}); err != nil {
		t.Fatal(err)
	}
	found := func(s knowledge.Store) string {
		t.Helper()
		a, err := locate.Locate(ctx, s, locate.Question{Text: "the border of a table is cut"}, locate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range a.Functions {
			b.WriteString(f.Name + " " + f.File + "\n")
		}
		if text, err := a.Repositories[0].Text("border.go"); err != nil || !strings.Contains(string(text), "Border") {
			t.Errorf("the text is %q, %v", text, err)
		}
		return b.String()
	}
	want := found(here)
	if got := found(there); got != want || !strings.HasPrefix(got, "Border border.go") {
		t.Errorf("on the other machine is found %q, want %q", got, want)
	}
	units := func(s knowledge.Store) string {
		t.Helper()
		l := &lookup.Lookup{Store: s}
		list, err := l.Find(ctx, "Border")
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0].Text + list[0].Problem
	}
	if got, want := units(there), units(here); got != want || !strings.Contains(got, `"+--\x00\xff+"`) {
		t.Errorf("the unit is %q, want %q", got, want)
	}
	left, err := index.Refresh(ctx, there, time.Second, nil, index.Options{})
	if err != nil || len(left) != 0 {
		t.Errorf("stale are %v, %v", left, err)
	}

	// A file that changed is the new one, a removed one is gone.
	write("border.go", "package app\n\n// Border draws the border of a table, well.\nfunc Border() {}\n")
	if err := os.Remove(filepath.Join(dir, "other.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Update(ctx, here, dir, index.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := units(there); !strings.Contains(got, "func Border() {}") {
		t.Errorf("after a change the unit is %q", got)
	}
	all, err := there.Repositories(ctx)
	if err != nil || len(all) != 1 || !all[0].Elsewhere {
		t.Fatalf("%+v, %v", all, err)
	}
	if text, err := all[0].Text("other.go"); err == nil {
		t.Errorf("a removed file has the text %q", text)
	}

	// A copy brings the texts of files that are there and unchanged.
	file := at(t, filepath.Join(t.TempDir(), "knowledge.db"))
	if _, err := index.Update(ctx, open(t, file), dir, index.Options{}); err != nil {
		t.Fatal(err)
	}
	write("border.go", "package app\n\nfunc Border() { println() }\n")
	write("new.go", "package app\n")
	if err := stores.Copy(ctx, file, at(t, owner.URL("project", "stale")), nil); err != nil {
		t.Fatal(err)
	}
	if got := units(on("stale", "third")); !strings.Contains(got, "does not have the text of border.go") {
		t.Errorf("a file that changed since was copied as %q", got)
	}
	if _, err := index.Update(ctx, open(t, file), dir, index.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := stores.Copy(context.Background(), file, at(t, owner.URL("project", "fresh")), nil); err != nil {
		t.Fatal(err)
	}
	if got := units(on("fresh", "third")); !strings.Contains(got, "println") {
		t.Errorf("copied was %q", got)
	}
	// A database has the text itself.
	write("border.go", "package app\n\nfunc Border() { panic(1) }\n")
	if err := stores.Copy(ctx, at(t, owner.URL("project", "fresh")), at(t, owner.URL("project", "again")), nil); err != nil {
		t.Fatal(err)
	}
	if got := units(on("again", "third")); !strings.Contains(got, "println") {
		t.Errorf("copied from a database was %q", got)
	}
}
