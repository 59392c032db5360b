//go:build unix

package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/postgres/postgrestest"
)

// BenchmarkNearest is the time of one question about the 100 nearest of made-up functions with vectors of 384 numbers, with pgvector ("there") and without
// ("here"), in turns: half of the questions take less than p50-ms, nearly all less than p95-ms. It is also how much is sent for one, and the size of the table.
// The functions are in one repository, or in 100, one of which is asked about. The server is one of its own on a socket.
//
//	go test ./knowledge/postgres -run '^$' -bench Nearest -benchtime 1x -timeout 0
//
// needs a PostgreSQL that has pgvector, in $TRACERAG_PGVECTOR or in its usual place. TRACERAG_VECTORS is how many functions there are, in place of 10,000 and 100,000.
func BenchmarkNearest(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if n, err := strconv.Atoi(os.Getenv("TRACERAG_VECTORS")); err == nil {
		sizes = []int{n}
	}
	server := postgrestest.NewWithVector(b)
	for _, size := range sizes {
		for _, repositories := range []int{1, 100} {
			b.Run(fmt.Sprintf("%d/of-%d", size, repositories), func(b *testing.B) { benchmarkNearest(b, server, size, repositories) })
		}
	}
}

func benchmarkNearest(b *testing.B, server *postgrestest.Server, size, repositories int) {
	const length, limit = 384, 100
	questions := max(5, min(30, 3_000_000/size))
	type side struct {
		*Store
		received atomic.Int64
		took     []time.Duration
		bytes    int64
	}
	sides := map[string]*side{"here": {}, "there": {}}
	for name, x := range sides {
		owner := server.Database(b)
		if name == "there" {
			server.Exec(b, owner.Database(), "CREATE EXTENSION vector")
		}
		l, err := Parse(owner.URL())
		if err != nil {
			b.Fatal(err)
		}
		dial := l.config.ConnConfig.DialFunc
		l.config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return countingConn{c, &x.received}, err
		}
		if x.Store, err = Open(b.Context(), l, Options{}); err != nil {
			b.Fatal(err)
		}
		defer x.Close()
		server.Exec(b, owner.Database(), fmt.Sprintf(`SET search_path = tracerag;
			INSERT INTO repository (project, name, host, root, url) SELECT 1, 'r' || r, 'h', '/r' || r, '' FROM generate_series(1, %[2]d) r;
			INSERT INTO package (project, repository, path) SELECT 1, id, 'example.com/' || name FROM repository;
			INSERT INTO file (project, repository, path, base, package, directory, module, clause, class, platform, build, broken, imports, problem, size, mtime, hash, blob, calls)
				SELECT 1, repository, 'a.go', 'a.go', id, path, 0, 'p', 0, '', '', 0, '', '', 1, 1, '', '', '' FROM package;
			INSERT INTO decl (project, file, package, unit, kind, name, short, nth, start, "end", doc_start, doc_end, line, end_line, head, broken)
				SELECT 1, id, package, repository << 40 | n, 1, 'F' || n, 'f' || n, 1, n, n + 1, 0, 0, n, n + 1, 0, 0 FROM file, generate_series(1, %[1]d / %[2]d) n;
			INSERT INTO unit (id, project, package, tokens, comments, names) SELECT unit, 1, package, decode(md5(id::text), 'hex'), decode(md5(''), 'hex'), '' FROM decl`, size, repositories))
		r := rand.New(rand.NewPCG(1, 2))
		keys, err := x.pool.Query(b.Context(), "SELECT tokens, comments FROM unit")
		if err != nil {
			b.Fatal(err)
		}
		var list []knowledge.Vector
		for keys.Next() {
			var tokens, comments []byte
			if err := keys.Scan(&tokens, &comments); err != nil {
				b.Fatal(err)
			}
			list = append(list, knowledge.Vector{Tokens: code.Hash(tokens), Comments: code.Hash(comments)})
		}
		if err := keys.Err(); err != nil {
			b.Fatal(err)
		}
		for batch := range slices.Chunk(list, 500) {
			for i := range batch {
				batch[i].Values = random(r, length)
			}
			if err := x.SetVectors(b.Context(), "m", batch); err != nil {
				b.Fatal(err)
			}
			for i := range batch {
				batch[i].Values = nil
			}
		}
		server.Exec(b, owner.Database(), "VACUUM ANALYZE")
		var table int64
		if err := x.pool.QueryRow(b.Context(), "SELECT pg_total_relation_size('vector')").Scan(&table); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(table)/1e6, name+"-MB")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range questions + 2 {
		to, in := random(r, length), []int64{int64(i%repositories) + 1}
		var answers [2][]knowledge.Near
		for n, name := range []string{"here", "there"} {
			x := sides[name]
			start, before := time.Now(), x.received.Load()
			var err error
			if name == "here" {
				answers[n], err = x.nearestHere(b.Context(), "m", to, in, limit)
			} else {
				var done bool
				if answers[n], done, err = x.nearestThere(b.Context(), "m", to, in, limit); !done {
					b.Error("pgvector did not answer")
				}
			}
			if err != nil {
				b.Fatal(err)
			}
			if i >= 2 { // connections are made, and pages read
				x.took, x.bytes = append(x.took, time.Since(start)), x.received.Load()-before
			}
		}
		if !slices.EqualFunc(answers[0], answers[1], func(a, b knowledge.Near) bool {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Cosine, b.Cosine)) == 0
		}) {
			b.Error("the answers differ")
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, x := range sides {
		slices.Sort(x.took)
		b.ReportMetric(x.took[questions/2].Seconds()*1e3, name+"-p50-ms")
		b.ReportMetric(x.took[questions*19/20].Seconds()*1e3, name+"-p95-ms")
		b.ReportMetric(float64(x.bytes)/1e6, name+"-sent-MB")
	}
}

type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}
