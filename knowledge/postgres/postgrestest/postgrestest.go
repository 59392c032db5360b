//go:build unix

// Package postgrestest starts a real PostgreSQL for tests: on a socket in a temporary directory, with
// roles and passwords that are made for it. It needs the programs of PostgreSQL 15 or later, in PATH or
// where Debian puts them. Without them tests are skipped; with CI=true they fail. Tests of pgvector need it
// beside these programs, or others in $TRACERAG_PGVECTOR that have it: see [WithVector]. Without it they are skipped, if
// that is not set.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server of a test.
type Server struct {
	dir      string // data, the socket and the log
	bin      string
	password string // of the superuser
	as       *syscall.SysProcAttr

	process *exec.Cmd
	ended   chan struct{}
	unwatch func()
}

const superuser = "test_superuser"

// sharing is a server that the tests of a package share.
type sharing struct {
	sync.Mutex
	server *Server
	err    error
	tried  bool
}

var shared, withVector sharing

// Run runs the tests of a package, and then stops the servers that they share.
func Run(m *testing.M) int {
	code := m.Run()
	for _, x := range []*sharing{&shared, &withVector} {
		if x.server != nil {
			x.server.Remove()
		}
	}
	return code
}

// Installed reports whether the programs are there. With CI=true they have to be.
func Installed() (bool, error) {
	_, err := programs()
	if errors.Is(err, errNone) && os.Getenv("CI") != "true" {
		return false, nil
	}
	return err == nil, err
}

// errNone says that the programs are not there.
var errNone = errors.New("PostgreSQL is not installed (package postgresql): its programs are neither in PATH nor in /usr/lib/postgresql")

// Shared returns the server that the tests of a package share. Its package's TestMain calls [Run].
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.start(Start)
	return there(t, shared.server, shared.err)
}

func (x *sharing) start(start func() (*Server, error)) {
	x.Lock()
	defer x.Unlock()
	if !x.tried {
		x.tried = true
		x.server, x.err = start()
	}
}

// New starts a server for one test, which may stop it.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	s = there(t, s, err)
	t.Cleanup(s.Remove)
	return s
}

func there(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	if errors.Is(err, errNone) && os.Getenv("CI") != "true" || errors.Is(err, errNoVector) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// programs returns the directory of the newest PostgreSQL.
func programs() (string, error) {
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), "initdb")); err == nil {
				return filepath.Dir(p), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNone
	}
	number := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return number(a) - number(b) })), nil
}

// Start starts a server, which its caller removes.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	return start(bin)
}

func start(bin string) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "pg") // the path of a socket has 107 bytes at most
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, password: rand.Text()}
	defer func() {
		if err != nil {
			s.Remove()
		}
	}()
	if s.unwatch, err = watch(dir); err != nil {
		return nil, err
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(s.password), 0o600); err != nil {
		return nil, err
	}
	if err := s.unprivileged(dir, password); err != nil {
		return nil, err
	}
	init := s.command("initdb", "-D", s.data(), "-U", superuser, "--pwfile", password, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.Restart()
}

// unprivileged has the server run as another user if this one is root, which PostgreSQL refuses.
func (s *Server) unprivileged(paths ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		for _, p := range paths {
			if err := os.Chown(p, uid, gid); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("PostgreSQL does not run as root, and neither postgres nor nobody is a user")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.SysProcAttr = s.dir, s.as
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	return c
}

// Program runs one of the programs of PostgreSQL, as pg_dump, and returns what it wrote.
func (s *Server) Program(name string, args ...string) ([]byte, error) {
	return s.command(name, args...).CombinedOutput()
}

// Restart starts a server that was stopped.
func (s *Server) Restart() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := s.command("postgres", "-D", s.data(), "-c", "listen_addresses=", "-c", "unix_socket_directories="+s.dir,
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=64MB", "-c", "max_wal_size=256MB")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return err
	}
	s.process, s.ended = c, make(chan struct{})
	go func(ended chan struct{}) {
		_ = c.Wait()
		close(ended)
	}(s.ended)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		conn, err := pgx.Connect(ctx, s.url(superuser, s.password, "postgres"))
		if err == nil {
			err = conn.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended:\n%s", s.Log())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not answer: %w\n%s", err, s.Log())
		}
	}
}

// Stop stops the server; at once, it leaves its connections no time, as a crash.
func (s *Server) Stop(atOnce bool) {
	if s.process == nil {
		return
	}
	signal := syscall.SIGINT // "fast"
	if atOnce {
		signal = syscall.SIGQUIT // "immediate"
	}
	_ = s.process.Process.Signal(signal)
	<-s.ended
	s.process = nil
}

// Remove stops a server and removes its files. When the process ends without, another one does it: see watch.
func (s *Server) Remove() {
	s.Stop(true)
	_ = os.RemoveAll(s.dir)
	if s.unwatch != nil {
		s.unwatch()
	}
}

// Log returns the server's log.
func (s *Server) Log() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(bytes.TrimSpace(b))
}

func (s *Server) url(user, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}

// Superuser returns the URL of a database for who may do anything.
func (s *Server) Superuser(database string) string { return s.url(superuser, s.password, database) }

// Role is a role of a server, with a password of its own.
type Role struct {
	Name, Password string
	server         *Server
	database       string
}

// Database makes a database and the role that owns it.
func (s *Server) Database(t testing.TB) *Role {
	t.Helper()
	r, err := s.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// NewDatabase is Database without a test.
func (s *Server) NewDatabase() (*Role, error) {
	owner, err := s.role("")
	if err != nil {
		return nil, err
	}
	owner.database = "db_" + strings.ToLower(rand.Text()[:12])
	return owner, s.exec("postgres", fmt.Sprintf("CREATE DATABASE %s OWNER %s", owner.database, owner.Name))
}

// role makes a role that may connect to a database.
func (s *Server) role(database string) (*Role, error) {
	r := &Role{Name: "role_" + strings.ToLower(rand.Text()[:12]), Password: "pw-" + rand.Text(), server: s, database: database}
	return r, s.exec("postgres", fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", r.Name, r.Password))
}

func (s *Server) exec(database, query string) error {
	conn, err := pgx.Connect(context.Background(), s.Superuser(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err = conn.Exec(context.Background(), query); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// Exec has the superuser do something in a database.
func (s *Server) Exec(t testing.TB, database, query string) {
	t.Helper()
	if err := s.exec(database, query); err != nil {
		t.Fatal(err)
	}
}

// Database is the name of the role's database.
func (r *Role) Database() string { return r.database }

// Other makes another role for the same database.
func (r *Role) Other(t testing.TB) *Role {
	t.Helper()
	other, err := r.server.role(r.database)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// Server returns the role's server.
func (r *Role) Server() *Server { return r.server }

// URL returns the role's URL with its password, and parameters in pairs.
func (r *Role) URL(parameters ...string) string {
	u := r.server.url(r.Name, r.Password, r.database)
	for i := 0; i+1 < len(parameters); i += 2 {
		u += "&" + parameters[i] + "=" + url.QueryEscape(parameters[i+1])
	}
	return u
}

// Environment returns the URL without the password, and the variable that has that.
func (r *Role) Environment(parameters ...string) (place, password string) {
	return strings.Replace(r.URL(parameters...), ":"+r.Password+"@", "@", 1), "PGPASSWORD=" + r.Password
}
