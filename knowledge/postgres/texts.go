package postgres

import (
	"context"
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
		sql("INSERT INTO source (project, file, text) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[]) ON CONFLICT (file) DO UPDATE SET text = excluded.text", w.s.project, files, texts))
}

// text returns the text of a file as it was indexed.
func (s *Store) text(ctx context.Context, repository int64, path string) ([]byte, error) {
	text, known, err := rows.Value[[]byte](s.query(ctx, "SELECT t.text FROM file f JOIN source t ON t.file = f.id WHERE f.repository = $1 AND f.path = $2", repository, path))
	if err == nil && !known {
		err = &TextError{s.server, path}
	}
	return text, err
}

// SetTexts keeps texts of files that were written without. The reader returns nil for a file whose text
// is not the one that was indexed.
func (s *Store) SetTexts(ctx context.Context, repository int64, read func(path string, hash code.Hash) []byte) error {
	type file struct {
		id   int64
		path string
		hash code.Hash
	}
	without := s.query(ctx, "SELECT f.id, f.path, f.hash FROM file f WHERE f.repository = $1 AND f.problem = '' AND NOT EXISTS (SELECT FROM source t WHERE t.file = f.id) ORDER BY f.path", repository)
	files, err := rows.All(without, func(scan rows.Scan) (f file, err error) {
		var hash []byte
		err = scan(&f.id, &f.path, &hash)
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
			if text := read(f.path, f.hash); text != nil {
				ids, texts = append(ids, f.id), append(texts, text)
			}
		}
		if err := s.writing(ctx, func(t *transaction) error {
			if err := t.lock(repository); err != nil {
				return err
			}
			// Who wrote a file since has its text.
			_, err := t.exec("INSERT INTO source (project, file, text) SELECT $1, x.* FROM unnest($2::bigint[], $3::bytea[]) x (file, text) WHERE EXISTS (SELECT FROM file f WHERE f.id = x.file) ON CONFLICT DO NOTHING", s.project, ids, texts)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
