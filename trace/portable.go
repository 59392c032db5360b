package trace

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Portable returns what of t tells what the program did, without what tells when and
// where: times, directories, the build. Two machines that do the same make equal
// ones of it, but for the positions of changed sources, so that it can be kept under
// version control. Files are named as -trimpath names them, by import path. Observed
// values and lines that ran are left out too.
func (t *Trace) Portable() *Trace {
	p := *t
	p.Dir, p.Start, p.Duration, p.Baseline = "", time.Time{}, 0, ""
	p.Program.Path, p.Program.BuildID = "", ""
	p.Program.ModTime, p.Program.Settings = time.Time{}, nil
	p.Activations, p.Lines, p.Processes = nil, nil, nil
	p.Program.Deps = slices.Clone(p.Program.Deps)
	for i := range p.Program.Deps {
		if m := &p.Program.Deps[i]; m.Replace != nil && m.Replace.Version == "" { // by a directory
			m.Replace = nil
		}
	}
	trimmed := func(file, pkg string) string {
		if file == "" {
			return ""
		}
		base := path.Base(strings.ReplaceAll(file, `\`, "/"))
		if strings.HasSuffix(base, "_test.go") { // also of the package that tests another from outside
			pkg = strings.TrimSuffix(pkg, "_test")
		}
		return path.Join(p.Program.versioned(pkg), base)
	}
	p.Functions = slices.Clone(t.Functions)
	for i := range p.Functions {
		f := &p.Functions[i]
		f.File = trimmed(f.File, f.Package)
	}
	p.Nodes = slices.Clone(t.Nodes)
	for i := range p.Nodes {
		g := &p.Nodes[i].Go
		g.File = trimmed(g.File, p.Program.PackageOf(g.Func))
	}
	return &p
}

// versioned returns an import path with the version of the module that it is in, as
// -trimpath writes it: example.com/m@v1.2.3/sub. That of the main module has none.
func (p *Program) versioned(pkg string) string {
	best := Module{}
	for _, m := range p.Deps {
		if (pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/")) && len(m.Path) > len(best.Path) {
			best = m
		}
	}
	inMain := len(p.Main.Path) > len(best.Path) && (pkg == p.Main.Path || strings.HasPrefix(pkg, p.Main.Path+"/"))
	if best.Version == "" || inMain {
		return pkg
	}
	return best.Path + "@" + best.Version + pkg[len(best.Path):]
}
