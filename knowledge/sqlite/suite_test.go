package sqlite

import (
	"path/filepath"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
)

// TestStore holds the store against what every one promises.
func TestStore(t *testing.T) {
	knowledgetest.TestStore(t, func(t testing.TB) knowledgetest.Place {
		file := filepath.Join(t.TempDir(), "knowledge.db")
		return func() (knowledge.Store, error) { return Open(t.Context(), file) }
	})
}
