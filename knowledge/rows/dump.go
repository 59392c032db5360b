package rows

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// ReadFunc reads the rows of a query. Values are int64, string and []byte, or nil.
type ReadFunc func(query string, each func(values []any) error) error

// Dump writes all rows as text, in an order of their own: without the numbers of rows, and
// without times and what follows from them. Stores that know the same have equal dumps,
// however they came to it.
func Dump(w io.Writer, read ReadFunc) error {
	b := bufio.NewWriter(w)
	for _, q := range dumped {
		if _, err := fmt.Fprintf(b, "# %s\n", q.table); err != nil {
			return err
		}
		if err := read(q.query, func(values []any) error {
			if n := len(values) - 1; q.table == "literal" { // a text in one store, and bytes in another
				if text, ok := values[n].([]byte); ok {
					values[n] = string(text)
				}
			}
			return dumpRow(b, values)
		}); err != nil {
			return fmt.Errorf("dumping %s: %w", q.table, err)
		}
	}
	if _, err := fmt.Fprintln(b, "# posting"); err != nil {
		return err
	}
	if err := dumpPostings(b, read); err != nil {
		return fmt.Errorf("dumping posting: %w", err)
	}
	return b.Flush()
}

// dumped are queries in words that SQLite and PostgreSQL have in common.
var dumped = []struct{ table, query string }{
	{"repository", `SELECT name, url, revision, uncommitted, CAST(updating <> 0 AS INTEGER), calls_made, calls_now FROM repository ORDER BY 1`},
	{"module", `SELECT r.name, m.ord, m.detail FROM module m JOIN repository r ON r.id = m.repository ORDER BY 1, 2`},
	{"package", `SELECT r.name, p.path FROM package p JOIN repository r ON r.id = p.repository ORDER BY 1, 2`},
	{"file", `SELECT r.name, f.path, f.base, p.path, f.directory, f.module, f.clause, f.class, f.platform, f.build, f.broken, f.imports, f.problem, f.size, f.hash, f.blob, f.calls
		FROM file f JOIN repository r ON r.id = f.repository JOIN package p ON p.id = f.package ORDER BY 1, 2`},
	{"decl", `SELECT r.name, f.path, d.kind, d.name, d.nth, p.path, d.start, d.end, d.doc_start, d.doc_end, d.line, d.end_line, d.head, d.broken, u.tokens, u.comments, (u.id >> 32) & 255
		FROM decl d JOIN file f ON f.id = d.file JOIN repository r ON r.id = f.repository JOIN package p ON p.id = d.package JOIN unit u ON u.id = d.unit ORDER BY 1, 2, 3, 4, 5`},
	{"unit", `SELECT r.name, p.path, u.tokens, u.comments, (u.id >> 32) & 255, u.names FROM unit u JOIN package p ON p.id = u.package JOIN repository r ON r.id = p.repository ORDER BY 1, 2, 3, 4, 5`},
	{"member", `SELECT r.name, p.path, u.tokens, u.comments, (u.id >> 32) & 255, m.ord, m.name FROM member m JOIN unit u ON u.id = m.unit JOIN package p ON p.id = u.package JOIN repository r ON r.id = p.repository ORDER BY 1, 2, 3, 4, 5, 6`},
	{"literal", `SELECT r.name, p.path, u.tokens, u.comments, (u.id >> 32) & 255, l.ord, l.text FROM literal l JOIN unit u ON u.id = l.unit JOIN package p ON p.id = u.package JOIN repository r ON r.id = p.repository ORDER BY 1, 2, 3, 4, 5, 6`},
	{"orphan", `SELECT count(*) FROM orphan`},
	{"edge", `SELECT r.name, f.path, a.name, a.nth, e.kind, e.site, g.path, b.name, b.nth
		FROM edge e LEFT JOIN decl a ON a.id = e.caller LEFT JOIN file f ON f.id = a.file LEFT JOIN repository r ON r.id = f.repository
		LEFT JOIN decl b ON b.id = e.callee LEFT JOIN file g ON g.id = b.file ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9`},
	{"run", `SELECT trace, package, test, command, revision, CAST(passed AS INTEGER) FROM run ORDER BY 1`},
	{"symbol", `SELECT package, name, nth, base FROM symbol ORDER BY 1, 2, 3, 4`},
	{"ran", `SELECT r.trace, s.package, s.name, s.nth, s.base, x.calls FROM ran x JOIN run r ON r.id = x.run JOIN symbol s ON s.id = x.symbol ORDER BY 1, 2, 3, 4, 5`},
	{"ran_call", `SELECT r.trace, a.package, a.name, a.nth, a.base, b.package, b.name, b.nth, b.base, c.count
		FROM ran_call c JOIN run r ON r.id = c.run JOIN symbol a ON a.id = c.caller JOIN symbol b ON b.id = c.callee ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9`},
	{"revision", `SELECT r.name, v.name, v.time, v.subject FROM revision v JOIN repository r ON r.id = v.repository ORDER BY 1, 2`},
	{"revision_file", `SELECT r.name, v.name, x.path FROM revision_file x JOIN revision v ON v.id = x.revision JOIN repository r ON r.id = v.repository ORDER BY 1, 2, 3`},
	{"subject", `SELECT r.name, s.term, s.commits FROM subject s JOIN repository r ON r.id = s.repository ORDER BY 1, 2`},
	{"vector", `SELECT tokens, comments, model, numbers FROM vector ORDER BY 1, 2, 3`},
	{"summary", `SELECT level, hash, model, text, CAST(substitute AS INTEGER) FROM summary ORDER BY 1, 2, 3`},
	{"answer", `SELECT key, answer FROM answer ORDER BY 1`},
}

func dumpRow(w io.Writer, values []any) error {
	for i, v := range values {
		if i > 0 {
			_, _ = io.WriteString(w, "\t")
		}
		text := fmt.Sprint(v)
		switch v := v.(type) {
		case []byte:
			text = fmt.Sprintf("%x", v)
		case string:
			text = fmt.Sprintf("%q", v)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// dumpPostings writes a hash of each unit's terms, how often each is in which field, and
// the unit's length.
func dumpPostings(w io.Writer, read ReadFunc) error {
	hashes := map[int64]hash.Hash{}
	lengths := map[int64][]byte{}
	if err := read("SELECT id, lengths FROM chunk", func(v []any) error {
		id, list := v[0].(int64), v[1].([]byte)
		lengths[id] = list
		for i := range uint16(len(list) / 4) {
			if n := LengthOf(list, i); Lives(n) {
				h := sha256.New()
				_, _ = fmt.Fprintln(h, n)
				hashes[id<<ChunkShift|int64(i)] = h
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := read("SELECT chunk, term, units FROM posting ORDER BY term", func(v []any) error {
		chunk, term := v[0].(int64), v[1].(string)
		return EachPosting(v[2].([]byte), func(unit, _ uint16, c *Counts) {
			id := chunk<<ChunkShift | int64(unit)
			if Purged(LengthOf(lengths[chunk], unit)) { // it may not have rows
				hashes[id] = sha256.New()
			} else if h := hashes[id]; h != nil {
				_, _ = fmt.Fprintln(h, term, *c)
			}
		})
	}); err != nil {
		return err
	}
	var lines []string
	if err := read("SELECT u.id, r.name, p.path, u.tokens, u.comments FROM unit u JOIN package p ON p.id = u.package JOIN repository r ON r.id = p.repository ORDER BY r.name, p.path, u.tokens, u.comments, (u.id >> 32) & 255", func(v []any) error {
		unit := v[0].(int64)
		sum := "none"
		if h := hashes[unit]; h != nil {
			sum = hex.EncodeToString(h.Sum(nil))
		}
		delete(hashes, unit)
		lines = append(lines, fmt.Sprintf("%s\t%s\t%x\t%x\t%d\t%s\n", v[1], v[2], v[3], v[4], GroupOf(unit), sum))
		return nil
	}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s%d rows without a unit\n", strings.Join(lines, ""), len(hashes))
	return err
}
