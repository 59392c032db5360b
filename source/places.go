package source

import (
	"go/build"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// places knows the directories that sources may lie in, and takes the file
// names of a binary there.
type places struct {
	Config
	mainDir string   // "" when not found
	modules []Module // main first, then dependencies
	goroots []goroot // the best match for GoVersion first
	goMod   map[string]moduleDir
	work    map[string]string // directories of a workspace's modules, by path
}

// goroot is a Go distribution on this machine.
type goroot struct {
	dir     string
	version string // of its VERSION file, "go1.26.8"; "" when it has none
}

// moduleDir is a directory with a go.mod file.
type moduleDir struct{ dir, path string }

func newPlaces(c Config) *places {
	p := &places{Config: c, goMod: make(map[string]moduleDir)}
	p.Deps = slices.Clone(c.Deps)
	for i := range p.Deps {
		// What the build information of a directory says.
		if d := &p.Deps[i]; d.ReplaceVersion == "(devel)" {
			d.ReplaceVersion = ""
		}
	}
	if p.GOMODCACHE == "" {
		p.GOMODCACHE = defaultModCache()
	}
	if c.Main.Path != "" {
		p.modules = append(p.modules, c.Main)
	}
	p.modules = append(p.modules, p.Deps...)
	p.mainDir = p.findMain()
	p.work = p.workspace()
	p.findGoroots()
	return p
}

// defaultModCache follows the go command's own rules, but for "go env -w".
func defaultModCache() string {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return dir
	}
	// build.Default.GOPATH is $GOPATH or ~/go.
	if list := filepath.SplitList(build.Default.GOPATH); len(list) > 0 && list[0] != "" {
		return filepath.Join(list[0], "pkg", "mod")
	}
	return ""
}

func (p *places) findMain() string {
	if p.Main.Dir != "" {
		return p.Main.Dir
	}
	if p.Main.Path == "" {
		return ""
	}
	for _, start := range append([]string{p.Dir}, p.Roots...) {
		if m := p.moduleAbove(start); m.path == p.Main.Path {
			return m.dir
		}
	}
	return ""
}

// workspace reads the go.work file that the go command would use, but for
// $GOWORK, which was that of another moment.
func (p *places) workspace() map[string]string {
	start := orElse(p.mainDir, p.Dir)
	if start == "" {
		return nil
	}
	dir, err := filepath.Abs(start)
	if err != nil {
		return nil
	}
	for {
		name := filepath.Join(dir, "go.work")
		if data, _, err := readRegular("", name); err == nil {
			w, err := modfile.ParseWork(name, data, nil)
			if err != nil {
				return nil
			}
			dirs := make(map[string]string)
			for _, u := range w.Use {
				use := filepath.FromSlash(u.Path)
				if !filepath.IsAbs(use) {
					use = filepath.Join(dir, use)
				}
				if m := p.moduleAbove(use); m.dir == filepath.Clean(use) {
					dirs[m.path] = use
				}
			}
			return dirs
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// moduleAbove returns the nearest directory at dir or above with a go.mod.
func (p *places) moduleAbove(dir string) moduleDir {
	if dir == "" {
		return moduleDir{}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return moduleDir{}
	}
	if m, ok := p.goMod[dir]; ok {
		return m
	}
	var m moduleDir
	if data, _, err := readRegular("", filepath.Join(dir, "go.mod")); err == nil {
		m = moduleDir{dir: dir, path: modfile.ModulePath(data)}
	} else if up := filepath.Dir(dir); up != dir {
		m = p.moduleAbove(up)
	}
	p.goMod[dir] = m
	return m
}

// findGoroots lists the Go distributions, those of the binary's own release
// first: a GOROOT often is a newer release than the one that built the binary.
func (p *places) findGoroots() {
	var dirs []string
	if p.GOROOT != "" {
		dirs = append(dirs, p.GOROOT)
	} else {
		dirs = append(dirs, os.Getenv("GOROOT"), build.Default.GOROOT)
		if exe, err := exec.LookPath("go"); err == nil {
			if exe, err = filepath.EvalSymlinks(exe); err == nil {
				dirs = append(dirs, filepath.Dir(filepath.Dir(exe)))
			}
		}
	}
	if p.GOMODCACHE != "" && p.GoVersion != "" {
		// Where the go command keeps releases that it downloaded itself.
		dirs = append(dirs, filepath.Join(p.GOMODCACHE, "golang.org",
			"toolchain@v0.0.1-"+p.release()+"."+runtime.GOOS+"-"+runtime.GOARCH))
	}
	var same, other []goroot
	seen := map[string]bool{"": true}
	for _, dir := range dirs {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if fi, err := os.Stat(filepath.Join(dir, "src")); err != nil || !fi.IsDir() {
			continue
		}
		g := goroot{dir: dir}
		if data, _, err := readRegular("", filepath.Join(dir, "VERSION")); err == nil {
			g.version, _, _ = strings.Cut(string(data), "\n")
			g.version = strings.TrimSpace(g.version)
		}
		if g.version == p.release() {
			same = append(same, g)
		} else {
			other = append(other, g)
		}
	}
	p.goroots = append(same, other...)
}

// release is GoVersion without the experiments and vendor notes behind it
// ("go1.26.0 X:jsonv2").
func (p *places) release() string {
	v, _, _ := strings.Cut(p.GoVersion, " ")
	return v
}

// owner says what a file of the binary belongs to.
type owner struct {
	kind ownerKind
	mod  Module // of a main or dependency file
	rel  string // slash path inside the module or GOROOT/src
	// pinned: the name gives the module's version, so that the module cache
	// is the place to look first, even for a main module.
	pinned bool
}

type ownerKind int

const (
	unknownOwner ownerKind = iota
	stdOwner
	mainOwner
	depOwner
)

// display is the owner's machine-independent name of the file.
func (o owner) display() string {
	switch o.kind {
	case stdOwner:
		return "std/" + o.rel
	case mainOwner:
		return o.rel
	case depOwner:
		return o.mod.display() + "/" + o.rel
	}
	return path.Base(o.rel)
}

func (m Module) display() string {
	name, version := m.Path, m.Version
	if m.ReplacePath != "" {
		version = m.ReplaceVersion // none for a directory: its version is a fiction
		if version != "" {
			name = m.ReplacePath
		}
	}
	if version == "" || version == "(devel)" {
		return name
	}
	return name + "@" + version
}

// cacheDir is the module's directory in the module cache, "" when it can have
// none.
func (p *places) cacheDir(m Module) string {
	name, version := m.Path, m.Version
	if m.ReplacePath != "" {
		name, version = m.ReplacePath, m.ReplaceVersion
	}
	if p.GOMODCACHE == "" || version == "" || version == "(devel)" {
		return ""
	}
	ep, err1 := module.EscapePath(name)
	ev, err2 := module.EscapeVersion(version)
	if err1 != nil || err2 != nil {
		return ""
	}
	return filepath.Join(p.GOMODCACHE, filepath.FromSlash(ep)+"@"+ev)
}

// replaceDir is the directory of a module that is worked on beside the main
// one: the target of a replace directive or a part of the workspace.
func (p *places) replaceDir(m Module) string {
	switch {
	case m.Dir != "":
		return m.Dir
	case m.ReplaceVersion != "":
		return ""
	case m.ReplacePath == "":
		if m.Version == "" || m.Version == "(devel)" {
			return p.work[m.Path]
		}
		return ""
	case filepath.IsAbs(m.ReplacePath):
		return m.ReplacePath
	case p.mainDir != "":
		return filepath.Join(p.mainDir, filepath.FromSlash(m.ReplacePath))
	}
	return ""
}

// moduleOf returns the module with the longest path that is name or a parent
// of it.
func (p *places) moduleOf(name string) (Module, bool) {
	var best Module
	found := false
	for _, m := range p.modules {
		if inTree(name, m.Path) && (!found || len(m.Path) > len(best.Path)) {
			best, found = m, true
		}
	}
	return best, found
}

// inTree reports whether slash path name is dir or below it.
func inTree(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

// below returns name relative to directory dir, as a slash path.
func below(dir, name string) (string, bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, name)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// isStd reports whether a package path is one of a Go distribution on this
// machine.
func (p *places) isStd(pkg string) bool {
	if pkg == "" || pkg == "main" || !filepath.IsLocal(filepath.FromSlash(pkg)) {
		return false
	}
	if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
		return false
	}
	for _, g := range p.goroots {
		if fi, err := os.Stat(filepath.Join(g.dir, "src", filepath.FromSlash(pkg))); err == nil && fi.IsDir() {
			return true
		}
	}
	return false
}
