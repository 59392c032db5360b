package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
)

func openTemp(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "new", "knowledge.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dumped1(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMigration opens a store with a program that knows the version after: what was in it is
// still there, and what that version adds. A program that knows today's refuses the result.
func TestMigration(t *testing.T) {
	s := openTemp(t)
	knowledgetest.Fill(t, s, "a.go", "F", "G")
	before := dumped1(t, s)
	s.Close()

	next := append(slices.Clip(migrations), "ALTER TABLE repository ADD COLUMN owner TEXT NOT NULL DEFAULT 'somebody'")
	newer, err := open(t.Context(), s.file, next)
	if err != nil {
		t.Fatal(err)
	}
	if after := dumped1(t, newer); after != before {
		t.Errorf("the migration changed\n%s\nto\n%s", before, after)
	}
	var owner string
	if err := newer.read.QueryRow("SELECT owner FROM repository").Scan(&owner); err != nil || owner != "somebody" {
		t.Errorf("the new column has %q, %v", owner, err)
	}
	knowledgetest.Fill(t, newer, "b.go", "H")
	newer.Close()

	for what, open := range map[string]func(context.Context, string) (*Store, error){"writing": Open, "reading": OpenRead} {
		_, err = open(t.Context(), s.file)
		var e *NewerError
		if !errors.As(err, &e) || e.Version != len(next) || !strings.Contains(err.Error(), "update tracerag") {
			t.Errorf("opened for %s by an older program: %v", what, err)
		}
	}
}

// TestVersion1 opens a store of version 1, which had an FTS5 index: what follows from the files is
// gone, and the repository is marked incomplete; runs and commits are still there. Made
// again it is as a new one.
func TestVersion1(t *testing.T) {
	ctx := t.Context()
	fresh := openTemp(t)
	knowledgetest.Fill(t, fresh, "a.go", "F", "G")
	want := dumped1(t, fresh)

	file := filepath.Join(t.TempDir(), "knowledge.db")
	one, err := open(ctx, file, migrations[:1])
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"INSERT INTO repository (id, name, root, url, calls_made) VALUES (1, 'r', '/r', '', x'01')",
		"INSERT INTO package VALUES (1, 1, 'example.com/r')",
		"INSERT INTO file VALUES (1, 1, 'a.go', 'a.go', 1, 'example.com/r', 0, 'r', 0, '', '', 0, '', '', 1, 1, x'01', x'01', x'')",
		"INSERT INTO unit VALUES (1099511627777, 1, x'01', x'01', '', 1)",
		"INSERT INTO decl VALUES (1, 1, 1, 1099511627777, 1, 'F', 'F', 1, 0, 9, 0, 0, 1, 2, 0, 0)",
		"INSERT INTO posting (rowid, name) VALUES (1099511627777, 'f')",
		"INSERT INTO literal VALUES (1099511627777, 0, 'text of F')",
		"INSERT INTO revision VALUES (1, 1, 'c', 0, 'A subject')",
	} {
		if _, err := one.write.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	one.Close()

	two, err := Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	all, err := two.Repositories(ctx)
	if err != nil || len(all) != 1 || !all[0].Incomplete || all[0].Calls != knowledge.NoCalls {
		t.Fatalf("the repositories are %+v, %v", all, err)
	}
	if files, err := two.Stored(ctx, 1); err != nil || len(files) != 0 {
		t.Errorf("files that are taken for read: %v, %v", files, err)
	}
	if commits, err := two.Commits(ctx, 1); err != nil || len(commits) != 1 {
		t.Errorf("the commits are %v, %v", commits, err)
	}
	if list, err := two.Vocabularies(ctx, []string{"subject", "other"}, []int64{1}); err != nil || fmt.Sprint(list) != "[{0 1 [0 0] [1 0]}]" {
		t.Errorf("commits that are not counted yet: %v, %v", list, err)
	}
	if err := two.SetCommits(ctx, 1, nil, []string{"c"}); err != nil {
		t.Fatal(err)
	}
	knowledgetest.Fill(t, two, "a.go", "F", "G")
	if got := dumped1(t, two); got != want {
		t.Errorf("made again it has\n%s\na new one has\n%s", got, want)
	}
}

// TestVersion5 opens a store of version 5, whose string literals were not joined: its files are to be
// read again. Vectors stay.
func TestVersion5(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "knowledge.db")
	older, err := open(ctx, file, migrations[:5])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := older.write.ExecContext(ctx, "INSERT INTO vector VALUES (x'01', x'01', 'm', x'01')"); err != nil {
		t.Fatal(err)
	}
	knowledgetest.Fill(t, older, "a.go", "F", "G")
	older.Close()
	fresh := openTemp(t)
	if _, err := fresh.write.ExecContext(ctx, "INSERT INTO vector VALUES (x'01', x'01', 'm', x'01')"); err != nil {
		t.Fatal(err)
	}
	knowledgetest.Fill(t, fresh, "a.go", "F", "G")
	want := dumped1(t, fresh)

	newest, err := Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer newest.Close()
	all, err := newest.Repositories(ctx)
	if err != nil || len(all) != 1 || !all[0].Incomplete {
		t.Fatalf("the repositories are %+v, %v", all, err)
	}
	if files, err := newest.Stored(ctx, 1); err != nil || len(files) != 0 {
		t.Errorf("files that are taken for read: %v, %v", files, err)
	}
	for _, table := range []string{"posting", "chunk", "literal", "decl", "unit", "edge"} {
		var n int
		if err := newest.read.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
	var vectors int
	if err := newest.read.QueryRow("SELECT count(*) FROM vector").Scan(&vectors); err != nil || vectors != 1 {
		t.Errorf("%d vectors, %v", vectors, err)
	}
	knowledgetest.Fill(t, newest, "a.go", "F", "G")
	if got := dumped1(t, newest); got != want {
		t.Errorf("made again it has\n%s\na new one has\n%s", got, want)
	}
}

// TestOldIsNotRead says that a file of an older version is not read as one of today's.
func TestOldIsNotRead(t *testing.T) {
	s := openTemp(t)
	s.Close()
	today := migrations
	migrations = append(slices.Clip(migrations), "CREATE TABLE more (x)")
	defer func() { migrations = today }()
	var e *OlderError
	if _, err := OpenRead(t.Context(), s.file); !errors.As(err, &e) {
		t.Errorf("OpenRead: %v", err)
	}
}

// TestOpenWaits opens a file of which another process is making a store: it waits until that is done.
func TestOpenWaits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "knowledge.db")
	other, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	const takes = 100 * time.Millisecond
	start := time.Now()
	time.AfterFunc(takes, func() { _, _ = other.Exec("COMMIT") })
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if waited := time.Since(start); waited < takes {
		t.Errorf("opened after %v, while another process was writing", waited)
	}
}

// TestFailedMigration leaves the file at the version that it had.
func TestFailedMigration(t *testing.T) {
	s := openTemp(t)
	knowledgetest.Fill(t, s, "a.go", "F")
	before := dumped1(t, s)
	s.Close()
	if _, err := open(t.Context(), s.file, append(slices.Clip(migrations), "CREATE TABLE more (x)", "no SQL")); err == nil {
		t.Fatal("a migration that fails was carried out")
	}
	again, err := Open(t.Context(), s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if after := dumped1(t, again); after != before {
		t.Error("the store changed")
	}
}

// TestNoStore refuses what is no store, and leaves it as it is.
func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE theirs (x)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for _, file := range []string{text, other} {
		before, _ := os.ReadFile(file)
		for _, open := range []func(context.Context, string) (*Store, error){Open, OpenRead} {
			_, err := open(t.Context(), file)
			var e *DamagedError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
		after, _ := os.ReadFile(file)
		if file == text && string(after) != string(before) {
			t.Errorf("%s was changed", filepath.Base(file))
		}
	}
	var m *MissingError
	if _, err := OpenRead(t.Context(), filepath.Join(dir, "none.db")); !errors.As(err, &m) {
		t.Errorf("a file that does not exist: %v", err)
	}
	var u *UnwritableError
	if _, err := Open(t.Context(), filepath.Join(text, "below", "k.db")); !errors.As(err, &u) {
		t.Errorf("below a file: %v", err)
	}
}

// TestDamaged overwrites pages of a store. Whatever is asked then ends with an answer or an error
// that names the file.
func TestDamaged(t *testing.T) {
	s := openTemp(t)
	var names []string
	for i := range 2000 {
		names = append(names, fmt.Sprintf("F%d", i))
	}
	knowledgetest.Fill(t, s, "a.go", names...)
	s.Close()
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 3 * 4096; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(s.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	bad, err := Open(t.Context(), s.file)
	if err == nil {
		defer bad.Close()
		_, err = knowledgetest.TryFill(bad, "a.go", "F1", "F2")
	}
	var e *DamagedError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), s.file) {
		t.Errorf("writing into a damaged store: %v", err)
	}
}

// TestFull fills the disk: SQLite refuses to grow. What was there stays, and the error says what to
// do.
func TestFull(t *testing.T) {
	s := openTemp(t)
	knowledgetest.Fill(t, s, "a.go", "F", "G")
	before := dumped1(t, s)
	var pages int
	if err := s.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.conn.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("Function%d", i))
	}
	_, err := knowledgetest.TryFill(s, "b.go", names...)
	var e *FullError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk: %v", err)
	}
	after := dumped1(t, s)
	if strings.Replace(after, "\ttrue\t", "\tfalse\t", 1) != before && strings.Replace(after, "\t1\t", "\t0\t", 1) != before {
		t.Errorf("more than the state changed:\n%s\n%s", before, after)
	}
	if all, err := s.Repositories(t.Context()); err != nil || !all[0].Incomplete {
		t.Errorf("the repository is not said to be incomplete: %+v, %v", all, err)
	}
}

// TestReadOnly opens a store where nobody can write, also as root: without a file of the log SQLite
// asks for none.
func TestReadOnly(t *testing.T) {
	s := openTemp(t)
	knowledgetest.Fill(t, s, "a.go", "F")
	s.Close()
	dir := filepath.Dir(s.file)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	r, err := OpenRead(t.Context(), s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if list, err := r.Named(t.Context(), []string{"F"}, nil); err != nil || len(list) != 1 {
		t.Errorf("reading: %v, %v", list, err)
	}
	var e *UnwritableError
	if _, err := knowledgetest.TryFill(r, "b.go", "G"); !errors.As(err, &e) {
		t.Errorf("writing into a store that is open for reading: %v", err)
	}
	if os.Geteuid() != 0 {
		if _, err := Open(t.Context(), filepath.Join(dir, "other.db")); !errors.As(err, &e) {
			t.Errorf("a new store in a directory that can't be written: %v", err)
		}
	}
}

// TestOneTransaction writes a change of which the second file can't be written: the first one is not there.
func TestOneTransaction(t *testing.T) {
	s := openTemp(t)
	id := knowledgetest.Fill(t, s, "a.go", "F")
	before := dumped1(t, s)
	c := knowledge.Change{Remove: []string{"a.go"}, Put: []knowledge.Parsed{{File: knowledge.File{Entry: code.Entry{Path: "b.go"}}}, {File: knowledge.File{Entry: code.Entry{Path: "c.go"}},
		Decls: []knowledge.Facts{{Decl: code.Decl{Kind: code.Func, Name: "X", Nth: 1}}}}}}
	if _, err := s.conn.ExecContext(t.Context(), "CREATE TRIGGER no BEFORE INSERT ON decl WHEN NEW.name = 'X' BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), id, c); err == nil {
		t.Fatal("the trigger did not fail")
	}
	if after := dumped1(t, s); after != before {
		t.Errorf("half a change was written:\n%s", after)
	}
	if err := s.Write(t.Context(), id, knowledge.Change{Remove: []string{"a.go"}}); err != nil {
		t.Errorf("after a change that failed: %v", err)
	}
}
