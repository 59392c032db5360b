//go:build unix

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// vectorVariable names the directory of the programs of a PostgreSQL that has pgvector.
const vectorVariable = "TRACERAG_PGVECTOR"

// errNoVector says that no PostgreSQL is there that has pgvector.
var errNoVector = errors.New("pgvector is not installed (package postgresql-NN-pgvector), and " + vectorVariable + " does not name the programs of a PostgreSQL that has it")

// WithVector returns a server that has pgvector, which the tests of a package share: that of the programs in
// $TRACERAG_PGVECTOR, or else the one of [Shared].
func WithVector(t testing.TB) *Server {
	t.Helper()
	if bin := os.Getenv(vectorVariable); bin != "" {
		withVector.start(func() (*Server, error) { return startWithVector(bin) })
		return there(t, withVector.server, withVector.err)
	}
	s := Shared(t)
	return there(t, s, s.hasVector())
}

// NewWithVector starts such a server for one test, which may stop it.
func NewWithVector(t testing.TB) *Server {
	t.Helper()
	s, err := startWithVector(WithVector(t).bin)
	s = there(t, s, err)
	t.Cleanup(s.Remove)
	return s
}

func startWithVector(bin string) (*Server, error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return nil, fmt.Errorf("%s: %w", vectorVariable, err)
	}
	s, err := start(bin)
	if err == nil {
		if err = s.hasVector(); err != nil {
			s.Remove()
			err = fmt.Errorf("%s: %s: %v", vectorVariable, bin, err) // not errNoVector, which skips tests
		}
	}
	return s, err
}

func (s *Server) hasVector() error {
	conn, err := pgx.Connect(context.Background(), s.Superuser("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var there bool
	err = conn.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')").Scan(&there)
	if err == nil && !there {
		err = errNoVector
	}
	return err
}

// VectorDatabase is Database of one that has pgvector, in the schema public.
func (s *Server) VectorDatabase(t testing.TB) *Role {
	t.Helper()
	r := s.Database(t)
	s.Exec(t, r.Database(), "CREATE EXTENSION vector")
	return r
}
