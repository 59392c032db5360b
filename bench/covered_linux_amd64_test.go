package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
	"tracerag/trace"
)

// TestCovered has two count in the same run: the compiler's coverage counters, and
// each recorder, of a program that `tracerag run -- go run` builds. Every function
// must have as many calls in the trace as its first block has counts.
//
// A function is known by the line on which it begins. What has no block of its
// own is left out: functions that the compiler makes (the initialisation of a
// package's variables, map.init, wrappers of methods, go and defer statements),
// assembly, and bodies without a statement, which coverage does not count. The body of a
// loop over an iterator is a function for the compiler; its block is the loop's.
func TestCovered(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	programs := []struct {
		name, module, pkg string
		run               func(t *testing.T) run
	}{
		{"tablecat", "", ".", func(t *testing.T) run { return tablecat(t) }},
		{"gojq", "github.com/itchyny/gojq", "./cmd/gojq", nil},
		{"shfmt", "mvdan.cc/sh/v3", "./cmd/shfmt", nil},
		{"yq", "github.com/mikefarah/yq/v4", ".", nil},
		{"esbuild", "github.com/evanw/esbuild", "./cmd/esbuild", nil},
		{"hugo", "github.com/gohugoio/hugo", ".", nil},
	}
	for _, p := range programs {
		for _, recorder := range []string{"probe", "rebuild"} {
			t.Run(p.name+"/"+recorder, func(t *testing.T) {
				var r run
				var dir string
				if p.run != nil {
					r, dir = p.run(t), fixtures.Dir(p.name)
				} else {
					prog := program(t, p.name)
					if !slices.ContainsFunc(real.Selected(), func(q real.Program) bool { return q.Name == p.name }) {
						t.Skip("TRACERAG_REAL=all builds it")
					}
					r, dir = small(t, p.name), moduleDir(t, p.module, prog.Version)
					for i, a := range r.args { // the program runs where it is built
						if _, ok := prog.Files[a]; ok {
							r.args[i] = filepath.Join(r.dir, a)
						}
					}
					if p.name == "hugo" {
						r.args = append(r.args, "--source", r.dir)
					}
				}
				counters, store := t.TempDir(), t.TempDir()
				packages := listPackages(t, dir, p.pkg)
				var patterns []string
				for _, pkg := range packages {
					patterns = append(patterns, pkg.ImportPath)
				}
				r.dir = dir
				cmd := r.command(slices.Concat([]string{tracerag(t), "run", "--recorder=" + recorder, "--quiet", "--dir", store, "--",
					"go", "run", "-cover", "-covermode=atomic", "-coverpkg=" + strings.Join(patterns, ","), p.pkg}, r.args[1:])...)
				cmd.Env = append(cmd.Env, "GOCOVERDIR="+counters, "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
				if o := finish(t, cmd); o.code != 0 || o.stdout == "" && p.name != "hugo" {
					t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
				}
				text := filepath.Join(counters, "text")
				if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counters, "-o", text).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				want, empty := readCounters(t, text, packages)
				compareCovered(t, readTrace(t, newest(t, store)), packages.dirs(), want, empty)
			})
		}
	}
}

// compiled are the names of functions that have no source of their own.
var compiled = regexp.MustCompile(`-fm$|\.gowrap\d+$|\.deferwrap\d+$|(^|/)[^/.]*\.init$|\.map\.init\.\d+$`)

// place is where a function begins; loop tells the body of a loop from a function
// on the same line.
type place struct {
	file string
	line int
	loop bool
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line))
}

// ticks reports whether a file's functions are called by a goroutine of its own that goes on while the counters are written, before
// the program ends: regexp2's clock, in Hugo.
func ticks(file string) bool { return strings.HasSuffix(file, "/fastclock.go") }

func compareCovered(t *testing.T, tr *trace.Trace, dirs map[string]string, want map[place]int64, empty map[place]bool) {
	t.Helper()
	got := map[place]calls{}
	for i := range tr.Nodes {
		f := tr.Func(trace.NodeID(i))
		if compiled.MatchString(f.Name) || strings.HasSuffix(f.File, ".s") {
			continue
		}
		file := f.File
		if !filepath.IsAbs(file) { // of a //line directive
			file = filepath.Join(dirs[f.Package], file)
		}
		at := place{file, f.StartLine, strings.Contains(f.Name, "-range")}
		c := got[at]
		c.n += tr.Nodes[i].Calls
		if !slices.Contains(c.names, f.Name) {
			c.names = append(c.names, f.Name)
		}
		got[at] = c
	}
	var functions, without int
	var all int64
	for _, at := range slices.SortedFunc(maps.Keys(want), place.compare) {
		g, ok := got[at]
		if at.loop && !ok || g.n == 0 && want[at] == 0 {
			continue // a loop over something that is no iterator; a function that was not called
		}
		functions++
		all += g.n
		if g.n > want[at] && ticks(at.file) {
			continue
		}
		if g.n != want[at] {
			t.Errorf("%s:%d: %d calls %v, but %d by its counter", at.file, at.line, g.n, g.names, want[at])
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(got), place.compare) {
		if _, ok := want[at]; ok || got[at].n == 0 {
			continue
		}
		without++
		if !empty[at] {
			t.Errorf("%s:%d: %d calls %v, but it has no counter", at.file, at.line, got[at].n, got[at].names)
		}
	}
	t.Logf("%d functions with %d calls compared; %d with empty bodies left out", functions, all, without)
}

// listed is a package as the go command lists it.
type listed struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	Standard          bool
}

type listing []listed

func (l listing) files() []string {
	var files []string
	for _, p := range l {
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			files = append(files, filepath.Join(p.Dir, name))
		}
	}
	return files
}

// dirs are the packages' directories by import path.
func (l listing) dirs() map[string]string {
	m := map[string]string{}
	for _, p := range l {
		m[p.ImportPath] = p.Dir
	}
	return m
}

// listPackages lists a package and all that it imports, the standard library
// left out.
func listPackages(t *testing.T, dir, pkg string) listing {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,Standard", pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages listing
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if !p.Standard {
			packages = append(packages, p)
		}
	}
	return packages
}

// moduleDir is where the module cache has a module.
func moduleDir(t *testing.T, module, version string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module+"@"+version).Output()
	var m struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Skipf("no source of %s@%s: %v", module, version, err)
	}
	return m.Dir
}

var blockLine = regexp.MustCompile(`^(.+):(\d+)\.(\d+),\d+\.\d+ \d+ (\d+)$`)

// readCounters reads a profile in the text format of coverage. It returns for each
// function, and for the body of each range statement, the count of its first
// block, the sum where several begin on one line; and those that have none.
func readCounters(t *testing.T, file string, packages listing) (first map[place]int64, empty map[place]bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dirs := packages.dirs()
	blocks := map[string]map[[2]int]int64{} // by file, by line and column
	for line := range strings.Lines(string(text)) {
		m := blockLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue // the mode, in the first line
		}
		file := filepath.Join(dirs[path.Dir(m[1])], path.Base(m[1]))
		if blocks[file] == nil {
			blocks[file] = map[[2]int]int64{}
		}
		var at [2]int
		at[0], _ = strconv.Atoi(m[2])
		at[1], _ = strconv.Atoi(m[3])
		n, _ := strconv.ParseInt(m[4], 10, 64)
		blocks[file][at] += n
	}
	first, empty = map[place]int64{}, map[place]bool{}
	starts := map[string][][2]int{}
	for file, counts := range blocks {
		starts[file] = slices.SortedFunc(maps.Keys(counts), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	}
	for _, source := range packages.files() {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			var body *ast.BlockStmt
			loop := false
			switch n := n.(type) {
			case *ast.FuncDecl:
				body = n.Body
			case *ast.FuncLit:
				body = n.Body
			case *ast.RangeStmt:
				body, loop = n.Body, true
			}
			if body == nil {
				return true
			}
			// All as //line directives have it, like the compiler and coverage.
			begin, open, end := fset.Position(n.Pos()), fset.Position(body.Lbrace), fset.Position(body.Rbrace)
			p := place{begin.Filename, begin.Line, loop}
			list := starts[open.Filename]
			i, _ := slices.BinarySearchFunc(list, [2]int{open.Line, open.Column}, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
			if i < len(list) && slices.Compare(list[i][:], []int{end.Line, end.Column}) < 0 {
				first[p] += blocks[open.Filename][list[i]]
			} else {
				empty[p] = true
			}
			return true
		})
	}
	return first, empty
}
