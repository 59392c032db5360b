package bench

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
)

// program returns one of package real's.
func program(t testing.TB, name string) real.Program {
	t.Helper()
	for _, p := range real.Programs {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("package real has no %s", name)
	return real.Program{}
}

// small is the run of a program that package real has for it.
func small(t testing.TB, name string) run {
	t.Helper()
	p := program(t, name)
	return run{args: append([]string{real.Install(t, p)}, p.Args...), dir: p.Dir(t), stdin: p.Stdin}
}

// tablecat is the run of the README.
func tablecat(t testing.TB) run {
	t.Helper()
	data := filepath.Join(fixtures.Dir("tablecat"), "data.csv")
	return run{args: []string{fixtures.Build(t, "tablecat"), "--csv", data}, dir: t.TempDir()}
}

// random makes the large inputs the same on every machine.
func random() *rand.Rand { return rand.New(rand.NewPCG(2, 3)) }

var words = strings.Fields(`the a run of call graph node edge and program table border page in build
	record with small large before after it is was on site heading function counter time`)

func sentence(r *rand.Rand, n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = words[r.IntN(len(words))]
	}
	return strings.ToUpper(s[0][:1]) + strings.Join(s, " ")[1:] + "."
}

// create writes a file below dir.
func create(t testing.TB, dir, name string, write func(w *bufio.Writer)) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// largeGojq filters an array of so many bytes.
func largeGojq(t testing.TB, size int) run {
	t.Helper()
	path := real.Install(t, program(t, "gojq"))
	dir := t.TempDir()
	r := random()
	create(t, dir, "data.json", func(w *bufio.Writer) {
		n, _ := w.WriteString("[")
		for i := 0; n < size; i++ {
			if i > 0 {
				w.WriteString(",\n")
			}
			k, _ := fmt.Fprintf(w, `{"id": %d, "name": %q, "score": %.2f, "active": %t, "tags": [%q, %q], "items": [{"price": %d, "quantity": %d}, {"price": %d, "quantity": %d}]}`,
				i, sentence(r, 4), 100*r.Float64(), i%3 != 0, words[r.IntN(len(words))], words[r.IntN(len(words))],
				r.IntN(900), r.IntN(9), r.IntN(900), r.IntN(9))
			n += k + 2
		}
		w.WriteString("]\n")
	})
	filter := `.[] | select(.active and .score > 20) | {id, name: (.name | ascii_upcase), tags: (.tags | join("/")), total: (.items | map(.price * .quantity) | add)}`
	return run{args: []string{path, "-c", filter, "data.json"}, dir: dir}
}

// largeHugo builds a site of 1,000 pages with tables and tags. One page in so many
// has a few lines of Go, which hugo highlights by regular expressions: the code
// with the most calls by far.
func largeHugo(t testing.TB, withCode int) run {
	t.Helper()
	p := program(t, "hugo")
	path := real.Install(t, p)
	dir := p.Dir(t)
	r := random()
	create(t, dir, "hugo.toml", func(w *bufio.Writer) {
		w.WriteString("baseURL = \"https://example.com/\"\ntitle = \"Large site\"\n[taxonomies]\ntag = \"tags\"\n")
	})
	create(t, dir, "layouts/_default/single.html", func(w *bufio.Writer) {
		w.WriteString(`{{ define "main" }}<article><h1>{{ .Title | upper }}</h1><p>{{ .Date.Format "2 January 2006" }}, {{ .ReadingTime }} min</p>
{{ .TableOfContents }}{{ .Content }}
<ul>{{ range .GetTerms "tags" }}<li><a href="{{ .RelPermalink }}">{{ .LinkTitle }}</a>{{ end }}</ul>
{{ with .PrevInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}{{ with .NextInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}
{{ partial "footer.html" . }}</article>{{ end }}
`)
	})
	for i := range 1000 {
		create(t, dir, fmt.Sprintf("content/section-%02d/page-%04d.md", i%20, i), func(w *bufio.Writer) {
			fmt.Fprintf(w, "---\ntitle: %q\ndate: 2025-%02d-%02d\ntags: [%q, %q]\n---\n", sentence(r, 5), 1+i%12, 1+i%28, words[i%len(words)], words[(i+7)%len(words)])
			for range 4 {
				fmt.Fprintf(w, "\n## %s\n\n%s *%s* %s\n\n- %s\n- `%s`\n", sentence(r, 3), sentence(r, 40), words[r.IntN(len(words))], sentence(r, 40), sentence(r, 6), words[r.IntN(len(words))])
			}
			fmt.Fprintf(w, "\n| name | count |\n|---|---|\n| %s | %d |\n| %s | %d |\n", words[i%9], i, words[i%7], 2*i)
			if i%withCode != 0 {
				return
			}
			fmt.Fprintf(w, "\n```go\nfunc page%d(n int) (string, error) {\n\tif n > %d {\n\t\treturn \"\", fmt.Errorf(\"page %%d\", n)\n\t}\n\treturn \"ok\", nil // a comment\n}\n```\n", i, i)
		})
	}
	return run{args: []string{path, "--quiet", "--noBuildLock", "--destination", "public"}, dir: dir}
}

// largeEsbuild bundles 2,000 modules of TypeScript and JSX, 14 MB.
func largeEsbuild(t testing.TB) run {
	t.Helper()
	path := real.Install(t, program(t, "esbuild"))
	dir := t.TempDir()
	r := random()
	const modules = 2000
	for i := range modules {
		create(t, dir, fmt.Sprintf("src/m%04d.tsx", i), func(w *bufio.Writer) { writeModule(w, r, i, modules) })
	}
	create(t, dir, "main.ts", func(w *bufio.Writer) {
		w.WriteString("import { total0 } from \"./src/m0000\"\nconsole.log(total0())\n")
	})
	return run{args: []string{path, "--bundle", "--minify", "--sourcemap", "--target=es2017", "--jsx-factory=h", "--log-level=error", "--outfile=out.js", "main.ts"}, dir: dir}
}

// writeModule writes the module i, which imports the modules 2i+1 and 2i+2.
func writeModule(w *bufio.Writer, r *rand.Rand, i, modules int) {
	var imported []int
	for _, k := range []int{2*i + 1, 2*i + 2} {
		if k < modules {
			imported = append(imported, k)
			fmt.Fprintf(w, "import { Part%[1]d, total%[1]d } from \"./m%04[1]d\"\n", k)
		}
	}
	fmt.Fprintf(w, "interface Props { name: string; count?: number; items: Array<{ id: number, label: string }> }\n")
	fmt.Fprintf(w, "enum Kind%[1]d { First = %[1]d, Second, Third = \"third\" }\n", i)
	const steps = 12
	for k := range steps {
		fmt.Fprintf(w, `
// %[3]s
export const step%[1]d_%[2]d = async ({ name, count = %[2]d, items = [] }: Props): Promise<string> => {
  const found = items.filter(x => x.id > count && x.label !== %[4]q).map((x, n) => ({ ...x, n }))
  for (const { id, label } of found) {
    if (id %% 2 === 0 || label?.startsWith(name)) continue
    switch (id) { case 1: return label; case 2: throw new Error(`+"`${label} is ${id}`"+`); default: await Promise.resolve(id) }
  }
  return found.reduce((sum, x) => sum + x.label.length * 2, 0).toString(16) ?? Kind%[1]d.Third
}
`, i, k, sentence(r, 8), sentence(r, 5))
	}
	fmt.Fprintf(w, "export class Part%[1]d { #count = 0\n  static kind = Kind%[1]d.First\n  add(n: number): this { this.#count += n ** 2; return this }\n", i)
	fmt.Fprintf(w, "  render() { return <div class=\"part\" data-n={this.#count}>{[1, 2, 3].map(n => <b key={n}>{n}</b>)} %s</div> }\n}\n", sentence(r, 6))
	fmt.Fprintf(w, "export function total%d(): unknown { return [", i)
	for k := range steps {
		fmt.Fprintf(w, "step%d_%d, ", i, k)
	}
	for _, k := range imported {
		fmt.Fprintf(w, "new Part%[1]d(), total%[1]d(), ", k)
	}
	w.WriteString("] }\n")
}
