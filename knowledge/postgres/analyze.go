package postgres

import "context"

// analyze has PostgreSQL count the rows of tables that grew by half or more since it counted them: it does so by
// itself, a minute later, and until then takes any project for a small one, which makes questions take
// ten times as long. Only their owner may. An error changes nothing that is there.
func (s *Store) analyze(ctx context.Context) {
	var grew bool
	// Statistics of changes would say the same, seconds later.
	err := s.pool.QueryRow(ctx, `SELECT pg_catalog.pg_has_role(session_user, relowner, 'USAGE') AND pg_relation_size(oid) / current_setting('block_size')::int > 20 + relpages * 3 / 2
		FROM pg_catalog.pg_class WHERE oid = to_regclass('tracerag.decl')`).Scan(&grew)
	if err == nil && grew {
		// Of several workers one does it.
		_, _ = s.pool.Exec(ctx, "ANALYZE (SKIP_LOCKED) repository, module, package, file, unit, member, decl, chunk, posting, revision, revision_file, subject")
	}
}
