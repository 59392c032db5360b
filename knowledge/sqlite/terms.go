package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
)

var errPosting = errors.New("a row of table posting is cut short")

// scope is some of the groups of some repositories.
type scope struct {
	repositories []int64
	from, to     int64 // groups
}

// chunkRows is a chunk, and the rows of the terms asked for: nil of a term that it has not.
type chunkRows struct {
	first   int64 // unit
	lengths []byte
	rows    [][]byte
}

// chunks reads the rows of terms in a scope, chunk by chunk.
func (s *Store) chunks(ctx context.Context, in scope, terms []string) ([]*chunkRows, error) {
	var list []*chunkRows
	// Both queries see the same state.
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, repository := range in.repositories {
		first, last := within(repository, in.from, in.to)
		first, last = first>>chunkShift, last>>chunkShift
		at := map[int64]*chunkRows{}
		read, err := tx.QueryContext(ctx, "SELECT id, lengths FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id", first, last)
		if err == nil {
			err = eachRow(read, func(scan func(...any) error) error {
				c := &chunkRows{rows: make([][]byte, len(terms))}
				var id int64
				err := scan(&id, &c.lengths)
				c.first, at[id] = id<<chunkShift, c
				list = append(list, c)
				return err
			})
		}
		if err == nil && len(terms) > 0 {
			read, err = tx.QueryContext(ctx, `SELECT p.chunk, t.key, p.units FROM chunk c CROSS JOIN json_each(?) t CROSS JOIN posting p
				WHERE c.id BETWEEN ? AND ? AND p.chunk = c.id AND p.term = t.value`, array(terms), first, last)
			if err == nil {
				err = eachRow(read, func(scan func(...any) error) error {
					var chunk, term int64
					var units []byte
					if err := scan(&chunk, &term, &units); err != nil {
						return err
					}
					at[chunk].rows[term] = units
					return nil
				})
			}
		}
		if err != nil {
			return nil, s.explain(err)
		}
	}
	return list, nil
}

// size returns how many units are there, and how many terms they have.
func (c *chunkRows) size() (units, terms int) {
	for i := 0; i+4 <= len(c.lengths); i += 4 {
		if n := binary.LittleEndian.Uint32(c.lengths[i:]); n < purged {
			units, terms = units+1, terms+int(n)
		}
	}
	return units, terms
}

// each calls do for the units that have a term.
func (c *chunkRows) each(term int, do func(unit uint16, length uint32, code uint16, n *counts)) error {
	return eachPosting(c.rows[term], func(unit, code uint16, n *counts) {
		if length := lengthOf(c.lengths, unit); length < purged {
			do(unit, length, code, n)
		}
	})
}

// with returns in how many units each of the terms is.
func with(chunks []*chunkRows, terms int) ([]int, error) {
	n := make([]int, terms)
	for _, c := range chunks {
		for t := range c.rows {
			if err := c.each(t, func(uint16, uint32, uint16, *counts) { n[t]++ }); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}
