package postgres

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Store is a project of a database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	server  string // for messages
	project int32
	where   Options
	read    bool  // only for reading
	worker  int32 // whose store it is; 0: nobody's
}

var (
	_ knowledge.Store = (*Store)(nil)
	_ rows.Copied     = (*Store)(nil)
)

// Options say where this process is: several machines share a store, and each has its own files.
type Options struct {
	// Host is the name of this machine; "" asks the system.
	Host string
	// Clone returns the directory in which this machine keeps its clone of a URL; nil, or "", if it
	// keeps none.
	Clone func(url string) string
}

// DefaultProject is that of a URL that names none.
const DefaultProject = "default"

// IsURL reports whether a place is a database.
func IsURL(place string) bool {
	scheme, _, ok := strings.Cut(place, "://")
	return ok && (strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql"))
}

// Location is a project of a database, by its URL.
type Location struct {
	Server   string // for messages: no password
	Project  string
	Password string // from wherever it came: the URL, the environment, a file; "" for none
	InURL    bool   // the password is in the URL itself

	config *pgxpool.Config
}

// String names the project: the URL without a password.
func (l *Location) String() string {
	return "postgres://" + l.Server + "?project=" + strings.ReplaceAll(url.QueryEscape(l.Project), "+", "%20")
}

// Parse reads a URL. What it does not say comes from the environment, as with psql: PGHOST,
// PGUSER, PGPASSWORD, PGSSLMODE, ~/.pgpass, ...
func Parse(raw string) (*Location, error) {
	if !IsURL(raw) {
		return nil, &URLError{"it is no URL"}
	}
	u, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	l := &Location{Project: cmp.Or(u.project, DefaultProject), InURL: u.secret}
	if len(l.Project) > 100 || !utf8.ValidString(l.Project) || strings.ContainsFunc(l.Project, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, &URLError{"the project's name is too long, is not UTF-8, or has control characters"}
	}
	l.config, err = pgxpool.ParseConfig(u.rest)
	if err != nil {
		return nil, &URLError{"its host, port, or one of its parameters"} // that of pgx may have all of it
	}
	// A lock holds a connection, what is read at one moment another one, while texts are read by a third.
	l.config.MaxConns = max(l.config.MaxConns, 3)
	c := l.config.ConnConfig
	l.Password = c.Password
	at := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		at = c.Host
	}
	l.Server = c.User + "@" + at + "/" + cmp.Or(c.Database, c.User)
	if c.ConnectTimeout == 0 || c.ConnectTimeout > time.Minute {
		c.ConnectTimeout = 10 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "tracerag",
		"search_path":      "tracerag",
		"tracerag.project": l.Project,
		"jit":              "off", // compiling a query takes longer than any of ours
		// What a role or a database may have set otherwise, and the store relies on.
		"lock_timeout":                  cmp.Or(c.RuntimeParams["lock_timeout"], "0"),
		"row_security":                  "on",
		"default_transaction_isolation": "read committed",
		"statement_timeout": cmp.Or(c.RuntimeParams["statement_timeout"],
			strconv.Itoa(int((10 * time.Minute).Milliseconds()))),
		"idle_in_transaction_session_timeout": "60000", // of a process that hangs: others wait for its locks
	} {
		c.RuntimeParams[name] = value
	}
	return l, nil
}

// Open opens a project for reading and writing. Its tables are made, or brought to today's version, if
// need be and if the role owns them.
func Open(ctx context.Context, l *Location, o Options) (*Store, error) {
	return open(ctx, l, o, migrations, false)
}

// OpenRead opens a project that is there for reading. Methods that write fail.
func OpenRead(ctx context.Context, l *Location, o Options) (*Store, error) {
	return open(ctx, l, o, migrations, true)
}

func open(ctx context.Context, l *Location, o Options, migrations []string, read bool) (_ *Store, err error) {
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("this machine's name: %w", err)
		}
	}
	config := l.config.Copy()
	if read {
		config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain(ctx, l.Server, err)
	}
	s := &Store{pool: pool, server: l.Server, where: o, read: read}
	if err := s.enter(ctx, l.Project, migrations); err != nil {
		pool.Close()
		return nil, s.explain(ctx, err)
	}
	return s, nil
}

// enter finds out whether this role may have the project, whose tables it makes if need be.
func (s *Store) enter(ctx context.Context, project string, migrations []string) error {
	var role string
	var unbound bool
	err := s.pool.QueryRow(ctx, "SELECT rolname, rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user").Scan(&role, &unbound)
	if err != nil {
		return err
	}
	if unbound {
		return &UnboundError{s.server, role}
	}
	v, owner, err := version(ctx, s.pool)
	if err != nil {
		return err
	}
	switch {
	case v > len(migrations):
		return &NewerError{s.server, v, len(migrations)}
	case v == 0 && s.read:
		return &MissingError{s.server, project}
	case v < len(migrations) && (s.read || v > 0 && !owner):
		return &OlderError{s.server, v, len(migrations)}
	case v < len(migrations):
		if err := s.migrate(ctx, migrations); err != nil {
			return err
		}
		owner = true
	}
	id, err := s.entered(ctx)
	if err != nil || id != 0 {
		s.project = id
		return err
	}
	if owner {
		known, err := s.own(ctx, project)
		if err != nil {
			return err
		}
		if !known {
			return &MissingError{s.server, project}
		}
		if s.project, err = s.entered(ctx); err != nil || s.project != 0 {
			return err
		}
	}
	return &NotAdmittedError{s.server, project, role}
}

// own makes a project that does not exist, for the owner of the tables; of one that is there it has to
// admit itself. Who only reads makes none. Of several processes that do at once one does it.
func (s *Store) own(ctx context.Context, project string) (known bool, err error) {
	const exists = "SELECT EXISTS (SELECT FROM project WHERE name = $1)"
	err = s.pool.QueryRow(ctx, exists, encode(project)).Scan(&known)
	if err != nil || known || s.read {
		return known, err
	}
	return true, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, exists, encode(project)).Scan(&known)
		if err == nil && !known {
			_, err = tx.Exec(ctx, "SELECT admit($1, session_user)", encode(project))
		}
		return err
	})
}

// entered returns the project that this connection may have; 0 for none.
func (s *Store) entered(ctx context.Context) (int32, error) {
	var id *int32
	err := s.pool.QueryRow(ctx, "SELECT entered()").Scan(&id)
	if err != nil || id == nil {
		return 0, ignoreDenied(err)
	}
	return *id, nil
}

// ignoreDenied: a role that was admitted to nothing may not even ask.
func ignoreDenied(err error) error {
	if isCode(err, denied, noFunction) {
		return nil
	}
	return err
}

// Close closes the connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}
