//go:build unix

package main

import (
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"tracerag/knowledge/postgres/postgrestest"
)

// databases are those of scripts.
var databases sync.Map

func hasPostgres() (bool, error) { return postgrestest.Installed() }

// cmdPostgres is "postgres start", which starts a server for the script. $PGURL is then the URL of a database,
// without a password, and $PGPASSWORD that. "postgres stop" and "postgres again" stop it and start it.
func cmdPostgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres start|stop|again")
	}
	if args[0] == "start" {
		s, err := postgrestest.Start()
		ts.Check(err)
		ts.Defer(s.Remove)
		role, err := s.NewDatabase()
		ts.Check(err)
		place, password := role.Environment()
		_, value, _ := strings.Cut(password, "=")
		ts.Setenv("PGURL", place)
		ts.Setenv("PGPASSWORD", value)
		databases.Store(ts, s)
		return
	}
	s, ok := databases.Load(ts)
	if !ok {
		ts.Fatalf("postgres start comes first")
	}
	if args[0] == "stop" {
		s.(*postgrestest.Server).Stop(false)
	} else {
		ts.Check(s.(*postgrestest.Server).Restart())
	}
}
