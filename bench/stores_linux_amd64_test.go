package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// BenchmarkExecutions is the time of `tracerag executed FUNC` over the traces of modules, of each 50 tests at 10 commits with 100 functions:
// 10 million rows of 200 modules. It is that of all but the slowest twentieth of the calls; and the longest of a function that all tests executed at
// all commits.
func BenchmarkExecutions(b *testing.B) {
	server := postgrestest.New(b)
	owner := server.Database(b)
	run := func(args ...string) output {
		b.Helper()
		cmd := exec.Command(tracerag(b), args...)
		cmd.Dir = b.TempDir()
		cmd.Env = append(os.Environ(), "TRACERAG_KNOWLEDGE="+owner.URL())
		o := finish(b, cmd)
		if o.code != 0 {
			b.Fatalf("%q ended with %d\n%s", args, o.code, o.stderr)
		}
		return o
	}
	run("pull", "--list") // makes the tables
	for from, modules := 0, 0; modules < 200; from = modules {
		modules = map[int]int{0: 10, 10: 50, 50: 200}[from]
		server.Exec(b, owner.Database(), fmt.Sprintf(`SET search_path = tracerag;
			INSERT INTO symbol (project, package, name, nth, base) SELECT 1, 'example.com/m' || m || '/pkg', 'Type.Func' || f, 1, 'a.go' FROM generate_series(%[1]d, %[2]d - 1) m, generate_series(0, 99) f;
			INSERT INTO run (project, trace, host, dir, package, test, command, revision, passed)
				SELECT 1, left(md5(m || '/' || t || '/' || c), 16), '', '', 'example.com/m' || m || '/pkg', 'Test' || t, 'go test', md5(c::text), true
				FROM generate_series(%[1]d, %[2]d - 1) m, generate_series(1, 50) t, generate_series(1, 10) c;
			INSERT INTO trace (project, id, module, name, recorded, file) SELECT 1, trace, split_part(package, '/pkg', 1), '', now(), 'x' FROM run ON CONFLICT DO NOTHING;
			INSERT INTO ran (project, symbol, run, calls) SELECT 1, s.id, r.id, 1 FROM run r JOIN symbol s ON s.package = r.package
				WHERE split_part(r.package, '/', 2) IN (SELECT 'm' || m FROM generate_series(%[1]d, %[2]d - 1) m);
			INSERT INTO symbol (project, package, name, nth, base) VALUES (1, 'example.com/log', 'Everywhere', 1, 'a.go') ON CONFLICT DO NOTHING;
			INSERT INTO ran (project, symbol, run, calls) SELECT 1, s.id, r.id, 1 FROM run r JOIN symbol s ON s.name = 'Everywhere' ON CONFLICT DO NOTHING;
			ANALYZE`, from, modules))
		b.Run(fmt.Sprint(modules), func(b *testing.B) {
			var took []time.Duration
			for i := range 20 * *rounds {
				o := run("executed", fmt.Sprintf("m%d/pkg.Type.Func%d", i*7%modules, i%100))
				if lines := strings.Count(o.stdout, "\n"); lines != 51 {
					b.Fatalf("%d lines\n%s%s", lines, o.stdout, o.stderr)
				}
				took = append(took, o.wall)
			}
			slices.Sort(took)
			var everywhere []time.Duration
			for range 4 * *rounds {
				everywhere = append(everywhere, run("executed", "log.Everywhere").wall)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(slices.Max(everywhere)), "everywhere-ms")
			b.ReportMetric(milliseconds(took[len(took)*19/20]), "p95-ms")
			b.ReportMetric(milliseconds(median(took)), "median-ms")
			b.ReportMetric(float64(modules)*50*10*100/1e6, "Mrows")
		})
	}
}

// writeHistory makes a directory a clone with so many commits, each of which says something about one of its
// files and changes it.
func writeHistory(b *testing.B, dir string, commits int) {
	b.Helper()
	git := func(stdin string, args ...string) string {
		b.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q", "-b", "main")
	git("", "add", "-A")
	files := strings.Fields(git("", "ls-files", "*.go"))
	verbs := []string{"fix", "do not retry", "log an error of", "speed up", "lock around", "test", "remove a leak of", "allow more of"}
	var in strings.Builder
	for i := range commits {
		file := files[i*31%len(files)]
		subject := fmt.Sprintf("%s: %s %s", filepath.Base(filepath.Dir(file)), verbs[i%len(verbs)], strings.NewReplacer("_", " ", ".go", "").Replace(filepath.Base(file)))
		text := fmt.Sprintln("package p //", i)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter a <a@example.com> %d +0000\ndata %d\n%s\nM 100644 inline %s\ndata %d\n%s\n", 1700000000+i*3600, len(subject), subject, file, len(text), text)
	}
	git(in.String(), "fast-import", "--quiet")
	git("", "commit", "-q", "-m", "import")
}

// teamReports are what people ask in words of their own.
var teamReports = []string{
	"a pod stays pending although a node has room after another one was deleted",
	"volume is detached while a container still writes to it",
	"the scheduler ignores a taint that was added with an effect in lower case",
	"certificate rotation stops when the clock goes back",
	"events of a namespace are listed twice after a watch is broken off",
	"negative seconds of a time out are taken for no time out at all",
	"a quota with a decimal comma is rounded up",
	"command line completion shows resources of other users",
}

// BenchmarkTeamLocate is the time of `tracerag locate` in PostgreSQL for 8 clients at once, by the number of repositories, which have the
// packages of Kubernetes in turns, and 300 commits each.
func BenchmarkTeamLocate(b *testing.B) {
	from := downloaded(b, indexedModule)
	root := b.TempDir()
	var files []string
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.Contains(path, "/vendor/") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	numbers := map[string]int{} // of repositories, by directory
	repository := func(n int) string { return filepath.Join(root, fmt.Sprintf("repository%03d", n)) }
	for _, path := range files {
		dir, err := filepath.Rel(from, filepath.Dir(path))
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := numbers[dir]; !ok {
			numbers[dir] = len(numbers) % 200
		}
		to := filepath.Join(repository(numbers[dir]), dir)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	owner := postgrestest.New(b).Database(b)
	tracerag(b)
	run := func(args ...string) output {
		cmd := exec.Command(tracerag(b), args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "TRACERAG_KNOWLEDGE="+owner.URL())
		return finish(b, cmd)
	}
	for from, n := 0, 0; n < 200; from = n {
		n = map[int]int{0: 10, 10: 50, 50: 200}[from]
		args := []string{"index", "--edges=no"}
		for i := from; i < n; i++ {
			mod := filepath.Join(repository(i), "go.mod")
			if err := os.WriteFile(mod, fmt.Appendf(nil, "module example.com/repository%03d\n\ngo 1.24\n", i), 0o644); err != nil {
				b.Fatal(err)
			}
			writeHistory(b, repository(i), 300)
			args = append(args, repository(i))
		}
		if o := run(args...); o.code != 0 {
			b.Fatalf("index ended with %d\n%s", o.code, o.stderr)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const clients = 8
			took := make([][]time.Duration, clients)
			var all sync.WaitGroup
			for c := range clients {
				all.Go(func() {
					for i := range 4 * *rounds {
						o := run("locate", teamReports[(c+i)%len(teamReports)])
						if o.code != 0 || !strings.Contains(o.stdout, "\nFiles\n") {
							b.Errorf("locate ended with %d\n%s%s", o.code, o.stdout, o.stderr)
						}
						took[c] = append(took[c], o.wall)
					}
				})
			}
			all.Wait()
			list := slices.Concat(took...)
			slices.Sort(list)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(list[len(list)*19/20]), "p95-ms")
			b.ReportMetric(milliseconds(median(list)), "median-ms")
			b.ReportMetric(milliseconds(run("locate", teamReports[0]).wall), "one-client-ms")
		})
	}
}
