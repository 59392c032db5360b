package session

import (
	"path"
	"strings"

	"tracerag/prompt"
	"tracerag/trace"
)

// modules are the short names of a program's dependencies, by path. They are those of
// prompts: the last element of the path, or more of it where that is taken.
type modules map[string]string

func newModules(tr *trace.Trace) modules {
	m := modules{}
	taken := map[string]bool{"std": true}
	main := tr.Program.Main.Path
	for i := range tr.Functions {
		if rest, ok := within(tr.Functions[i].Package, main); ok {
			dir, _, _ := strings.Cut(rest, "/")
			taken[dir] = true // of the main module
		}
	}
	known := map[string]bool{}
	for _, d := range tr.Program.Deps {
		known[d.Path] = true
	}
	name := func(mod string) {
		if _, ok := m[mod]; ok || mod == "" {
			return
		}
		for _, name := range prompt.ShortNames(mod) {
			if !taken[name] {
				taken[name] = true
				m[mod] = name
				break
			}
		}
	}
	for i := range tr.Functions {
		name(moduleOf(tr.Functions[i].Package, known))
	}
	for _, d := range tr.Program.Deps {
		name(d.Path) // a run that is compared may have called it
	}
	return m
}

// file is the name of a file of a dependency: "regexp2/syntax/parser.go"; "" for
// another module's.
func (m modules) file(f *trace.Function) string {
	for mod := f.Package; mod != "." && mod != "/" && mod != ""; mod = path.Dir(mod) {
		if name := m[mod]; name != "" {
			return path.Join(name, strings.TrimPrefix(f.Package, mod), base(f.File))
		}
	}
	return ""
}

// shown shortens the name of a file that was found: what the compiler put into a
// function of the program from another module is named by that module's file.
func (m modules) shown(display string) string {
	mod, rest, ok := strings.Cut(display, "@")
	_, rest, inside := strings.Cut(rest, "/")
	if name := m[mod]; ok && inside && name != "" {
		return path.Join(name, rest)
	}
	return display
}

// moduleOf returns the module of a package, the longest path that is known.
func moduleOf(pkg string, known map[string]bool) string {
	for mod := pkg; mod != "." && mod != "/" && mod != ""; mod = path.Dir(mod) {
		if known[mod] {
			return mod
		}
	}
	return ""
}

// within returns the path of a package within a module.
func within(pkg, mod string) (rest string, ok bool) {
	if mod == "" || pkg != mod && !strings.HasPrefix(pkg, mod+"/") {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(pkg, mod), "/"), true
}

// base is the last element of a path of any system.
func base(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }
