package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tracerag/code"
	"tracerag/code/calls"
	"tracerag/trace"
)

// place names a declaration of the module.
type place struct{ file, symbol string }

type pair struct{ caller, callee place }

func (p pair) compare(o pair) int {
	return cmp.Or(strings.Compare(p.caller.file, o.caller.file), strings.Compare(p.caller.symbol, o.caller.symbol),
		strings.Compare(p.callee.file, o.callee.file), strings.Compare(p.callee.symbol, o.callee.symbol))
}

// call is what runs tell of a pair.
type call struct {
	lines map[int]bool // of the caller's file
	how   string       // the linker's names of one of its calls
}

// files are the module's files, read as they are asked for.
type files struct {
	dir, module string
	known       map[string]*file
}

type file struct {
	text  []byte
	decls []code.Decl
	sites map[string][]code.Site
}

func newFiles(dir, module string) *files {
	return &files{dir: dir, module: module, known: map[string]*file{}}
}

func (fs *files) file(path string) *file {
	if f, ok := fs.known[path]; ok {
		return f
	}
	var f *file
	if text, err := os.ReadFile(filepath.Join(fs.dir, filepath.FromSlash(path))); err == nil {
		f = &file{text: text, decls: code.Parse(text).Decls, sites: map[string][]code.Site{}}
	}
	fs.known[path] = f
	return f
}

// line returns the line of a site.
func (fs *files) line(n calls.Name, site int) int {
	f := fs.file(n.File)
	if f == nil {
		return 0
	}
	sites, ok := f.sites[n.Symbol]
	if !ok {
		for _, d := range f.decls {
			if d.Symbol() == n.Symbol && (d.Kind.Callable() || d.Kind == code.Var) {
				sites, _ = code.Sites(f.text, d)
			}
		}
		f.sites[n.Symbol] = sites
	}
	if site >= len(sites) {
		return 0
	}
	return sites[site].Line
}

func (fs *files) text(path string, line int) string {
	f := fs.file(path)
	if f == nil {
		return ""
	}
	lines := strings.Split(string(f.text), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[line-1])
}

// declaration returns the declaration of a recorded function, if it is in the module.
func (fs *files) declaration(f *trace.Function) (place, bool) {
	path, ok := fs.path(f.File)
	if !ok || f.StartLine == 0 {
		return place{}, false
	}
	source := fs.file(path)
	if source == nil {
		return place{}, false
	}
	for _, d := range source.decls {
		if d.Line <= f.StartLine && f.StartLine <= d.EndLine && (d.Kind.Callable() || d.Kind == code.Var) {
			return place{path, d.Symbol()}, true
		}
	}
	return place{}, false
}

// path returns the path of a file in the module: "" if it is in none of its directories.
func (fs *files) path(name string) (string, bool) {
	if r, ok := strings.CutPrefix(name, fs.dir+"/"); ok {
		return r, true
	}
	// An installed program has "example.com/module@v1.2.3/file.go", at the end at least.
	if _, r, ok := strings.Cut(name, fs.module+"@"); ok {
		_, r, ok = strings.Cut(r, "/")
		return r, ok
	}
	return "", false
}

// literal matches the linker's names of function literals and of loops' bodies.
var literal = regexp.MustCompile(`\.(func\d+|gowrap\d+|deferwrap\d+|\d+)(-range\d+)?(\.|$)|-range\d+`)

// ran adds the calls of a run.
func (fs *files) ran(t *trace.Trace, to map[pair]call) {
	at := make([]place, len(t.Functions))
	own := make([]bool, len(t.Functions))
	byName := map[string]int{}
	for i := range t.Functions {
		at[i], own[i] = fs.declaration(&t.Functions[i])
		byName[t.Functions[i].Name] = i
	}
	add := func(caller, callee int, line int) {
		if !own[caller] || !own[callee] {
			return
		}
		p := pair{at[caller], at[callee]}
		names := t.Functions[caller].Name + " -> " + t.Functions[callee].Name
		if p.caller == p.callee && literal.MatchString(t.Functions[callee].Name) {
			return // package calls has no edges to a declaration's own function literals
		}
		c, ok := to[p]
		if !ok {
			c = call{map[int]bool{}, names}
			to[p] = c
		}
		if line > 0 {
			c.lines[line] = true
		}
	}
	for _, n := range t.Nodes {
		if n.Calls == 0 || n.Flags.Has(trace.Via) {
			continue
		}
		switch {
		case n.Parent != trace.NoNode:
			line := n.CallLine
			add(int(t.Nodes[n.Parent].Func), int(n.Func), line)
		case n.Root == trace.RootGoroutine:
			if f, ok := byName[n.Go.Func]; ok {
				add(f, int(n.Func), n.Go.Line)
			}
		}
	}
}
