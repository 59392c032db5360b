package postgres

import (
	"context"
	"fmt"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// putTexts keeps the texts of files, and none that is not theirs any more.
func (w *fileWriter) putTexts(put []*knowledge.Parsed) error {
	var without, files []int64
	var texts [][]byte
	for _, p := range put {
		if id := w.files[p.Path]; p.Text == nil {
			without = append(without, id)
		} else {
			files, texts = append(files, id), append(texts, p.Text)
		}
	}
	return w.do(
		sql("DELETE FROM source WHERE file = ANY($1)", without),
		sql("INSERT INTO source (project, file, text) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[]) ON CONFLICT (project, file) DO UPDATE SET text = excluded.text", w.s.project, files, texts))
}

// Text returns the text of a file as it was indexed.
func (s *Store) Text(ctx context.Context, repository int64, path string) ([]byte, error) {
	text, known, err := rows.Value[[]byte](s.query(ctx, "SELECT t.text FROM file f JOIN source t ON t.file = f.id WHERE f.repository = $1 AND f.path = $2", repository, path))
	if err == nil && !known {
		err = &TextError{s.server, path}
	}
	return text, err
}

// WithTexts returns the store as a copy fills it: with the texts of files, which a file of knowledge does
// not have. Text returns nil for a file whose text is not the one that was indexed.
func (s *Store) WithTexts(text func(repository, path string, hash code.Hash) []byte) rows.Copied {
	return &withTexts{s, text}
}

type withTexts struct {
	*Store
	text func(repository, path string, hash code.Hash) []byte
}

// Import is of [rows.Copied].
func (w *withTexts) Import(ctx context.Context, do func(to rows.Target) error) error {
	return w.importing(ctx, func(t *transaction) error {
		if err := do(target{t}); err != nil {
			return err
		}
		return t.setTexts(w.text)
	})
}

// setTexts keeps the texts of all files.
func (t *transaction) setTexts(text func(repository, path string, hash code.Hash) []byte) error {
	type file struct {
		id               int64
		repository, path string
		hash             code.Hash
	}
	files, err := rows.All(t.query("SELECT f.id, r.name, f.path, f.hash FROM file f JOIN repository r ON r.id = f.repository WHERE f.problem = '' ORDER BY r.name, f.path"), func(scan rows.Scan) (f file, err error) {
		var hash []byte
		err = scan(&f.id, &f.repository, &f.path, &hash)
		copy(f.hash[:], hash)
		return f, err
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(files, 200) {
		var ids []int64
		var texts [][]byte
		for _, f := range some {
			if text := text(f.repository, f.path, f.hash); text != nil {
				ids, texts = append(ids, f.id), append(texts, text)
			}
		}
		if _, err := t.exec("INSERT INTO source (project, file, text) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])", t.s.project, ids, texts); err != nil {
			return fmt.Errorf("copying texts: %w", err)
		}
	}
	return nil
}
