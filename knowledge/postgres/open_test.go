//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestMigration opens tables with a program that knows the version after: what was in them is still
// there, of all projects, and what that version adds; roles that were admitted may use it. A program that
// knows today's refuses the result.
func TestMigration(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	one := opened(t, owner.URL("project", "one"), Options{})
	two := opened(t, owner.URL("project", "two"), Options{})
	knowledgetest.Full(t, one, "one")
	knowledgetest.Full(t, two, "two")
	before := knowledgetest.Dump(t, one) + knowledgetest.Dump(t, two)
	member := owner.Other(t)
	if _, err := one.pool.Exec(ctx, "SELECT admit('one', $1)", member.Name); err != nil {
		t.Fatal(err)
	}
	next := append(slices.Clip(migrations), `ALTER TABLE repository ADD COLUMN owner text NOT NULL DEFAULT '';
		UPDATE repository SET owner = 'somebody';
		CREATE TABLE more (project int NOT NULL, x int);
		ALTER TABLE more ENABLE ROW LEVEL SECURITY; ALTER TABLE more FORCE ROW LEVEL SECURITY;
		CREATE POLICY of_project ON more USING (project = (SELECT entered()))`)
	location := func(url string) *Location {
		t.Helper()
		l, err := Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var older *OlderError
	if _, err := open(ctx, location(member.URL("project", "one")), Options{}, next, false); !errors.As(err, &older) {
		t.Errorf("a role that does not own the tables brings them to a version: %v", err)
	}
	if _, err := open(ctx, location(owner.URL("project", "one")), Options{}, next, true); !errors.As(err, &older) {
		t.Errorf("who only reads brings them to a version: %v", err)
	}
	var wg sync.WaitGroup
	for range 6 { // of several that do it at once one does
		wg.Go(func() {
			s, err := open(ctx, location(owner.URL("project", "one")), Options{}, next, false)
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	for _, project := range []string{"one", "two"} {
		s, err := open(ctx, location(owner.URL("project", project)), Options{}, next, false)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if list, err := rows.Values[string](s.query(ctx, "SELECT owner FROM repository")); err != nil || len(list) != 1 || list[0] != "somebody" {
			t.Errorf("project %s has the owners %q, %v", project, list, err)
		}
	}
	if after := knowledgetest.Dump(t, one) + knowledgetest.Dump(t, two); after != before {
		t.Error("the migration changed what was there")
	}
	s, err := open(ctx, location(member.URL("project", "one")), Options{}, next, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.pool.Exec(ctx, "INSERT INTO more VALUES ($1, 1)", s.project); err != nil {
		t.Errorf("a role that was admitted before the migration: %v", err)
	}
	for what, open := range map[string]func(context.Context, *Location, Options) (*Store, error){"writing": Open, "reading": OpenRead} {
		_, err := open(ctx, location(owner.URL("project", "one")), Options{})
		var e *NewerError
		if !errors.As(err, &e) || e.Version != len(next) || !strings.Contains(err.Error(), "update tracerag") {
			t.Errorf("opened for %s by an older program: %v", what, err)
		}
	}
}

// TestFirstAtOnce has several processes open a database in which nothing is yet, and write into it: projects
// of their own, and one that they share.
func TestFirstAtOnce(t *testing.T) {
	for range 5 {
		owner := postgrestest.Shared(t).Database(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s, err := tryOpen(t, owner.URL("project", fmt.Sprint("p", i/4)), Options{})
				if err == nil {
					defer s.Close()
					_, err = knowledgetest.TryFill(s, fmt.Sprintf("f%d.go", i), "F")
				}
				if err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	}
}

// TestFailedMigration leaves the tables at the version that they had.
func TestFailedMigration(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	knowledgetest.Full(t, s, "x")
	before := knowledgetest.Dump(t, s)
	l, _ := Parse(owner.URL())
	if _, err := open(t.Context(), l, Options{}, append(slices.Clip(migrations), "CREATE TABLE more (x int)", "no SQL"), false); err == nil {
		t.Fatal("a migration that fails was carried out")
	}
	if again := opened(t, owner.URL(), Options{}); knowledgetest.Dump(t, again) != before {
		t.Error("the store changed")
	}
	if tables, err := forcedTables(t.Context(), s); err != nil || len(tables) != 35 {
		t.Errorf("row-level security is forced on %v, %v", tables, err)
	}
}

// TestCommitsNotCounted asks for the vocabulary of repositories whose commits came before they were counted: it
// is the same.
func TestCommitsNotCounted(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	knowledgetest.Full(t, s, "line")
	all, err := s.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := func() string {
		list, err := s.Vocabularies(t.Context(), []string{"line", "text", "line"}, []int64{all[0].ID})
		return fmt.Sprint(list, err)
	}
	counted := vocabulary()
	if _, err := s.pool.Exec(t.Context(), "DELETE FROM subject"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), "UPDATE repository SET subjects = -1"); err != nil {
		t.Fatal(err)
	}
	if now := vocabulary(); now != counted || counted != "[{3 1 [2 2 2] [1 0 1]}] <nil>" {
		t.Errorf("the vocabulary is %s, and was %s", now, counted)
	}
}

// TestNothingYet says that reading makes nothing.
func TestNothingYet(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	read := func(project string) error {
		l, err := Parse(owner.URL("project", project))
		if err == nil {
			_, err = OpenRead(ctx, l, Options{})
		}
		return err
	}
	if err := read("one"); !errors.Is(err, knowledge.ErrNotIndexed) {
		t.Errorf("an empty database: %v", err)
	}
	s := opened(t, owner.URL("project", "one"), Options{})
	if err := read("two"); !errors.Is(err, knowledge.ErrNotIndexed) {
		t.Errorf("a project that does not exist: %v", err)
	}
	knowledgetest.Full(t, s, "x")
	l, _ := Parse(owner.URL("project", "one"))
	r, err := OpenRead(ctx, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if knowledgetest.Dump(t, r) != knowledgetest.Dump(t, s) {
		t.Error("who reads does not see all")
	}
	var e *UnwritableError
	if _, err := knowledgetest.TryFill(r, "b.go", "G"); !errors.As(err, &e) {
		t.Errorf("writing into a store that is open for reading: %v", err)
	}
	if _, err := r.pool.Exec(ctx, "DELETE FROM decl"); err == nil {
		t.Error("the connection can write")
	}
}

// TestPasswordIsNotShown opens what can't be opened, in every way: no error has the password, nor any form
// of it that a URL may have.
func TestPasswordIsNotShown(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	opened(t, owner.URL(), Options{})
	const password = "s3cr:t@pa/ss?w%20rd"
	const escaped = "s3cr%3At%40pa%2Fss%3Fw%2520rd"
	socket := owner.Server().Superuser("x")
	host := socket[strings.Index(socket, "host="):]
	for _, url := range []string{
		"postgres://" + owner.Name + ":" + escaped + "@/" + owner.Database() + "?" + host,
		"postgres://" + owner.Name + ":" + escaped + "@/nothing?" + host,
		"postgres://nobody:" + escaped + "@/" + owner.Database() + "?" + host,
		"postgres://u:" + escaped + "@127.0.0.1:1/d",
		"postgres://u:" + escaped + "@127.0.0.1:99999/d",
		"postgres://u:" + escaped + "@127.0.0.1:x/d",
		"postgres://u:" + escaped + "@host.invalid/d",
		"postgres://u:" + escaped + "@/d?host=/nothing/here",
		"postgres://u:" + escaped + "@/d?sslmode=wrong",
		"postgres://u:" + escaped + "@/d?connect_timeout=wrong",
		"postgres://u:" + password + "@127.0.0.1:1/d",
		"postgres://u:%zz" + password + "@127.0.0.1:1/d",
		"postgres://u@127.0.0.1:1/d?password=" + escaped,
		"postgres://u@127.0.0.1:1/d?password=" + escaped + "&sslmode=wrong",
		"postgresql://u:" + escaped + "@127.0.0.1:1/d?project=" + strings.Repeat("x", 200),
	} {
		var texts []string
		l, err := Parse(url)
		if err == nil {
			texts = append(texts, l.String(), l.Server)
			if !l.InURL || l.Password == "" {
				t.Errorf("%s: the password is not found", url)
			}
			_, err = Open(t.Context(), l, Options{})
		}
		if err == nil {
			t.Errorf("%s was opened", url)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			texts = append(texts, e.Error(), fmt.Sprintf("%+v %#v", e, e))
		}
		for _, text := range texts[:min(3, len(texts))] {
			for _, secret := range []string{password, escaped, "s3cr", "w%20rd", "w%2520rd"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %q has %q", url, text, secret)
				}
			}
		}
	}
}

// TestWrongParameter names a parameter that the server refuses, in one line.
func TestWrongParameter(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	var e *DeniedError
	if _, err := tryOpen(t, owner.URL("nonsense", "1"), Options{}); !errors.As(err, &e) || !strings.Contains(err.Error(), "nonsense") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a parameter that does not exist: %v", err)
	}
}

// TestPooler names PgBouncer as the cause of what it answers. With it as a pooler of transactions, one connection
// would get another one's project, so it is well that it refuses.
func TestPooler(t *testing.T) {
	err := explain(t.Context(), "u@h:6432/d", &pgconn.PgError{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: search_path"})
	var e *DeniedError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "PgBouncer") {
		t.Error(err)
	}
}

// TestTooManyConnections says what to do, which is not to start the server.
func TestTooManyConnections(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	owner.Server().Exec(t, "postgres", "ALTER ROLE "+owner.Name+" CONNECTION LIMIT 0")
	_, err := tryOpen(t, owner.URL(), Options{})
	var e *UnreachableError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "max_connections") || strings.Contains(err.Error(), "start it") {
		t.Error(err)
	}
}

// TestSettingsOfRole has what administrators set for roles: one writer waits for another one all the same.
func TestSettingsOfRole(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	for _, setting := range []string{"lock_timeout = '1ms'", "statement_timeout = '1ms'", "row_security = off", "default_transaction_isolation = 'serializable'"} {
		owner.Server().Exec(t, "postgres", "ALTER ROLE "+owner.Name+" SET "+setting)
	}
	s := opened(t, owner.URL(), Options{})
	id := knowledgetest.Fill(t, s, "a.go", "F")
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "UPDATE repository SET revision = 'x' WHERE id = $1", id); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- s.Write(ctx, id, knowledge.Change{Remove: []string{"a.go"}}) }()
	select {
	case err = <-written:
		t.Errorf("it did not wait: %v", err)
		_ = tx.Rollback(ctx)
		return
	case <-time.After(100 * time.Millisecond):
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	if err := <-written; err != nil {
		t.Errorf("after it waited: %v", err)
	}
}

// TestPasswordFrom takes the password from the environment or the file that psql reads.
func TestPasswordFrom(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	place, variable := owner.Environment()
	name, value, _ := strings.Cut(variable, "=")
	var denied *DeniedError
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	if _, err := tryOpen(t, place, Options{}); err == nil {
		t.Fatal("opened without a password")
	}
	t.Setenv(name, "wrong")
	if _, err := tryOpen(t, place, Options{}); !errors.As(err, &denied) || !strings.Contains(err.Error(), ".pgpass") {
		t.Errorf("a wrong password: %v", err)
	}
	t.Setenv(name, value)
	opened(t, place, Options{})
	t.Setenv(name, "")
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:"+owner.Name+":"+value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	s := opened(t, place, Options{})
	l, err := Parse(place)
	if err != nil || l.Password != value || l.InURL || s.server != l.Server {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestDown stops the server under a store: it says so. What was written is there when the server is, and the
// same store goes on.
func TestDown(t *testing.T) {
	server := postgrestest.New(t)
	owner := server.Database(t)
	s := opened(t, owner.URL(), Options{})
	knowledgetest.Full(t, s, "x")
	before := knowledgetest.Dump(t, s)
	for _, atOnce := range []bool{false, true} {
		server.Stop(atOnce)
		var e *UnreachableError
		for _, err := range []error{
			func() error { _, err := s.Repositories(t.Context()); return err }(),
			func() error { _, err := knowledgetest.TryFill(s, "b.go", "G"); return err }(),
			s.Dump(t.Context(), &strings.Builder{}),
			func() error { _, err := tryOpen(t, owner.URL(), Options{}); return err }(),
		} {
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "is kept") || !strings.Contains(err.Error(), owner.Database()) {
				t.Errorf("the server is down: %v", err)
			}
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		if knowledgetest.Dump(t, s) != before {
			t.Error("something was lost")
		}
	}
}

// TestOneTransaction writes a change of which the second file can't be written: the first one is not there.
func TestOneTransaction(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	id := knowledgetest.Fill(t, s, "a.go", "F")
	before := knowledgetest.Dump(t, s)
	c := knowledge.Change{Remove: []string{"a.go"}, Put: []knowledge.Parsed{{File: knowledge.File{Entry: code.Entry{Path: "b.go"}}}, {File: knowledge.File{Entry: code.Entry{Path: "c.go"}},
		Decls: []knowledge.Facts{{Decl: code.Decl{Kind: code.Func, Name: "X", Nth: 1}}}}}}
	owner.Server().Exec(t, owner.Database(), "ALTER TABLE tracerag.decl ADD CONSTRAINT no CHECK (name <> 'X')")
	if err := s.Write(t.Context(), id, c); err == nil {
		t.Fatal("the constraint did not fail")
	}
	if after := knowledgetest.Dump(t, s); after != before {
		t.Errorf("half a change was written:\n%s", after)
	}
	if err := s.Write(t.Context(), id, knowledge.Change{Remove: []string{"a.go"}}); err != nil {
		t.Errorf("after a change that failed: %v", err)
	}
}

// FuzzText encodes texts, which PostgreSQL has to take, and decodes them again.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00", "\x1a", "\x1a1a", "a\xffb", "\xed\xa0\x80", "π\x00\x1a\x1a00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := encode(s)
		if got := decode(e); got != s {
			t.Errorf("%q became %q, and then %q", s, e, got)
		}
		if !utf8.ValidString(e) || strings.Contains(e, "\x00") {
			t.Errorf("%q became %q", s, e)
		}
		_ = decode(s) // whatever is in the database
	})
}

// TestNoTLS connects with TLS to a server without TLS. The error says how to go on, and does not say to start the server.
func TestNoTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 8)) // the request for TLS
			_, _ = c.Write([]byte("N"))
			_ = c.Close()
		}
	}()
	_, err = tryOpen(t, "postgres://u:none@"+l.Addr().String()+"/d?sslmode=verify-full", Options{})
	if text := fmt.Sprint(err); !strings.Contains(text, "(ssl = on), or name another sslmode") || strings.Contains(text, "start it") {
		t.Errorf("%v", err)
	}
}
