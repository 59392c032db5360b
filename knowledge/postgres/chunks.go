package postgres

import (
	"maps"
	"slices"

	"tracerag/knowledge/rows"
)

// lastChunk returns the last chunk of a range, and how many units it had.
func (w *fileWriter) lastChunk(first, last int64) (chunk int64, units int, err error) {
	err = w.query("SELECT id, length(lengths) / 4 FROM chunk WHERE id BETWEEN $1 AND $2 ORDER BY id DESC LIMIT 1", first, last).
		Each(func(scan rows.Scan) error { return scan(&chunk, &units) })
	return chunk, units, err
}

// writeChunks adds what was taken in to the rows of the chunks.
func (w *fileWriter) writeChunks() error {
	var ids, of []int64
	var lengths, units [][]byte
	var terms []string
	if err := w.filler.Each(func(chunk int64, c *rows.Filling) error {
		ids, lengths = append(ids, chunk), append(lengths, c.Lengths)
		return c.Terms(func(term string, row []byte) error {
			of, terms, units = append(of, chunk), append(terms, term), append(units, row)
			return nil
		})
	}); err != nil || len(ids) == 0 {
		return err
	}
	if _, err := w.exec("INSERT INTO chunk (project, id, lengths) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[]) ON CONFLICT (project, id) DO UPDATE SET lengths = chunk.lengths || excluded.lengths", w.s.project, ids, lengths); err != nil {
		return err
	}
	_, err := w.exec("INSERT INTO posting (project, chunk, term, units) SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bytea[]) ON CONFLICT (project, chunk, term) DO UPDATE SET units = posting.units || excluded.units", w.s.project, of, terms, units)
	return err
}

// removeUnits takes units out of their chunks.
func (t *transaction) removeUnits(units []int64) error {
	of := rows.ByChunk(units)
	chunks := slices.Sorted(maps.Keys(of))
	var empty, changed, purged []int64
	all := map[int64][]byte{}
	if err := t.query("SELECT id, lengths FROM chunk WHERE id = ANY($1)", chunks).Each(func(scan rows.Scan) error {
		var chunk int64
		var l []byte
		if err := scan(&chunk, &l); err != nil {
			return err
		}
		left := rows.Remove(l, of[chunk])
		switch left {
		case rows.Nothing:
			empty = append(empty, chunk)
			return nil
		case rows.Little:
			purged = append(purged, chunk)
		}
		all[chunk], changed = l, append(changed, chunk)
		return nil
	}); err != nil {
		return err
	}
	for _, chunk := range purged {
		if err := t.purge(chunk, all[chunk]); err != nil {
			return err
		}
	}
	if len(empty) > 0 {
		if err := t.do(sql("DELETE FROM posting WHERE chunk = ANY($1)", empty), sql("DELETE FROM chunk WHERE id = ANY($1)", empty)); err != nil {
			return err
		}
	}
	lengths := make([][]byte, len(changed))
	for i, chunk := range changed {
		lengths[i] = all[chunk]
	}
	_, err := t.exec("UPDATE chunk SET lengths = x.lengths FROM unnest($1::bigint[], $2::bytea[]) x (id, lengths) WHERE chunk.id = x.id", changed, lengths)
	return err
}

// purge writes the rows of a chunk without the units that were removed.
func (t *transaction) purge(chunk int64, lengths []byte) error {
	left, err := rows.PurgeRows(t.query("SELECT term, units FROM posting WHERE chunk = $1", chunk), lengths)
	if err != nil {
		return err
	}
	var terms, empty []string
	var units [][]byte
	for _, term := range slices.Sorted(maps.Keys(left)) {
		if row := left[term]; len(row) > 0 {
			terms, units = append(terms, term), append(units, row)
		} else {
			empty = append(empty, term)
		}
	}
	rows.Purge(lengths)
	return t.do(
		sql("DELETE FROM posting WHERE chunk = $1 AND term = ANY($2)", chunk, empty),
		sql("UPDATE posting SET units = x.units FROM unnest($2::text[], $3::bytea[]) x (term, units) WHERE posting.chunk = $1 AND posting.term = x.term", chunk, terms, units))
}
