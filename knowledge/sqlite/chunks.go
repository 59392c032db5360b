package sqlite

import (
	"maps"
	"slices"

	"tracerag/knowledge/rows"
)

// lastChunk returns the last chunk of a range, and how many units it had.
func (t *transaction) lastChunk(first, last int64) (chunk int64, units int, err error) {
	chunk, known, err := t.number("SELECT max(id) FROM chunk WHERE id BETWEEN ? AND ? HAVING count(*) > 0", first, last)
	if err != nil || !known {
		return 0, 0, err
	}
	n, _, err := t.number("SELECT length(lengths) / 4 FROM chunk WHERE id = ?", chunk)
	return chunk, int(n), err
}

// writeChunks adds what was taken in to the rows of the chunks.
func (w *fileWriter) writeChunks() error {
	return w.units.Each(func(chunk int64, c *rows.Filling) error {
		if err := w.exec("INSERT INTO chunk VALUES (?, ?) ON CONFLICT DO UPDATE SET lengths = CAST(lengths || excluded.lengths AS BLOB)", chunk, c.Lengths); err != nil {
			return err
		}
		return c.Terms(func(term string, units []byte) error {
			return w.exec("INSERT INTO posting VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET units = CAST(units || excluded.units AS BLOB)", chunk, term, units)
		})
	})
}

// removeUnits takes units out of their chunks.
func (t *transaction) removeUnits(units []int64) error {
	of := rows.ByChunk(units)
	for _, chunk := range slices.Sorted(maps.Keys(of)) {
		lengths, err := t.bytes("SELECT lengths FROM chunk WHERE id = ?", chunk)
		if err != nil {
			return err
		}
		left := rows.Remove(lengths, of[chunk])
		if left == rows.Nothing {
			if err := t.exec("DELETE FROM posting WHERE chunk = ?", chunk); err != nil {
				return err
			}
			if err := t.exec("DELETE FROM chunk WHERE id = ?", chunk); err != nil {
				return err
			}
			continue
		}
		if left == rows.Little {
			if err := t.purge(chunk, lengths); err != nil {
				return err
			}
		}
		if err := t.exec("UPDATE chunk SET lengths = ? WHERE id = ?", lengths, chunk); err != nil {
			return err
		}
	}
	return nil
}

// purge writes the rows of a chunk without the units that were removed.
func (t *transaction) purge(chunk int64, lengths []byte) error {
	changed, err := rows.PurgeRows(t.query("SELECT term, units FROM posting WHERE chunk = ?", chunk), lengths)
	if err != nil {
		return err
	}
	for _, term := range slices.Sorted(maps.Keys(changed)) {
		if units := changed[term]; len(units) > 0 {
			err = t.exec("UPDATE posting SET units = ? WHERE chunk = ? AND term = ?", units, chunk, term)
		} else {
			err = t.exec("DELETE FROM posting WHERE chunk = ? AND term = ?", chunk, term)
		}
		if err != nil {
			return err
		}
	}
	rows.Purge(lengths)
	return nil
}
