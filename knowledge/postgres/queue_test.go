//go:build unix

package postgres

import (
	"strings"
	"testing"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestQueueIsRivers compares the tables that make_queue makes with those that river makes itself. They differ in our
// guard. A newer river may want others: then a new version of the schema changes them.
func TestQueueIsRivers(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	_, ours, _ := s.Queue()
	if _, err := s.pool.Exec(ctx, "CREATE SCHEMA theirs"); err != nil {
		t.Fatal(err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(s.pool), &rivermigrate.Config{Schema: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	catalog := func(schema string) string {
		t.Helper()
		const query = `
			SELECT format('column %s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns WHERE table_schema = $1
			UNION ALL SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = $1
			UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = $1::regnamespace
			UNION ALL SELECT format('function %s', regexp_replace(pg_get_functiondef(oid), '\s+', ' ', 'g')) FROM pg_proc WHERE pronamespace = $1::regnamespace
			UNION ALL SELECT format('enum %s %s', enumlabel, rank() OVER (ORDER BY enumsortorder)) FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid WHERE typnamespace = $1::regnamespace
			UNION ALL SELECT format('table %s %s', relname, relpersistence) FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
			UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = $1::regnamespace AND NOT tgisinternal AND tgname <> 'guard_job'
			UNION ALL SELECT format('migration %s %s', line, version) FROM ` + "SCHEMA.river_migration ORDER BY 1"
		list, err := rows.Values[string](s.query(ctx, strings.ReplaceAll(query, "SCHEMA", schema), schema))
		if err != nil || len(list) < 50 {
			t.Fatalf("%d lines, %v", len(list), err)
		}
		return strings.ReplaceAll(strings.Join(list, "\n"), schema, "QUEUE")
	}
	got, want := catalog(ours), catalog("theirs")
	if got == want {
		return
	}
	have := strings.Split(got, "\n")
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range have {
		if !strings.Contains("\n"+want+"\n", "\n"+line+"\n") {
			t.Errorf("not river's: %s", line)
		}
	}
}
