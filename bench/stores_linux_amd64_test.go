package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/knowledge/postgres/postgrestest"
)

const storedModule = "github.com/evanw/esbuild@v0.28.0"

const storedQuestion = "a source map has wrong columns after a template literal with line breaks is minified: the printer counts the bytes of the line before"

// BenchmarkStores is the time that commands take with a knowledge base in a file and in PostgreSQL, beside
// each other: to index a module, to index it again when nothing changed, and to locate a report in it. The
// server is one of its own on a socket, without fsync.
func BenchmarkStores(b *testing.B) {
	from := downloaded(b, storedModule)
	dir := filepath.Join(b.TempDir(), "esbuild")
	copyTree(b, from, dir)
	owner := postgrestest.New(b).Database(b)
	took := map[string][]time.Duration{}
	run := func(what, store, place string, args ...string) string {
		b.Helper()
		cmd := exec.Command(tracerag(b), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TRACERAG_KNOWLEDGE="+place)
		o := finish(b, cmd)
		if o.code != 0 {
			b.Fatalf("%q ended with %d\n%s", args, o.code, o.stderr)
		}
		took[store+"-"+what] = append(took[store+"-"+what], o.wall)
		return o.stdout
	}
	for i := range *rounds {
		answers := map[string]string{}
		for store, place := range map[string]string{"file": filepath.Join(b.TempDir(), "knowledge.db"), "postgres": owner.URL("project", fmt.Sprint("p", i))} {
			run("index", store, place, "index", "--edges=no", ".")
			run("again", store, place, "index", "--edges=no", ".")
			answers[store] = run("locate", store, place, "locate", storedQuestion)
		}
		if answers["file"] != answers["postgres"] || !strings.Contains(answers["file"], "\nFiles\n") {
			b.Fatalf("the stores answer otherwise:\n%s\n%s", answers["file"], answers["postgres"])
		}
	}
	b.ReportMetric(0, "ns/op")
	for what, list := range took {
		b.ReportMetric(milliseconds(median(list)), what+"-ms")
	}
}
