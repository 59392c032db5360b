//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

func hasPostgres() (bool, error) { return false, nil }

func cmdPostgres(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no PostgreSQL is started here")
}
