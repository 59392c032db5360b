//go:build unix

package index_test

import (
	"crypto/rand"
	"testing"

	"tracerag/knowledge/postgres/postgrestest"
)

func runTests(m *testing.M) int { return postgrestest.Run(m) }

// TestOnPostgres runs the tests of this package with stores in a PostgreSQL database. What it has after each
// is compared with a new store in a file.
func TestOnPostgres(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	newPlace = func(t testing.TB) string { return owner.URL("project", rand.Text()) }
	defer func() { newPlace = aFile }()
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Update", TestUpdate},
		{"LongNames", TestLongNames},
		{"LongPaths", TestLongPaths},
		{"OtherEncodings", TestOtherEncodings},
		{"Reader", TestReader},
		{"DerivedFactsStay", TestDerivedFactsStay},
		{"Stale", TestStale},
		{"Skipped", TestSkipped},
		{"Interrupted", TestInterrupted},
		{"Embed", TestEmbed},
		{"Killed", TestKilled},
		{"TwoProcesses", TestTwoProcesses},
		{"Replay", TestReplay},
		{"Operations", TestOperations},
		{"HistoryOfAnyBytes", TestHistoryOfAnyBytes},
		{"Runs", TestRuns},
		{"Callers", TestCallers},
		{"CallsComeBack", TestCallsComeBack},
	} {
		t.Run(c.name, c.test)
	}
}
