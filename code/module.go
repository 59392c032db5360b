package code

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Module is a module of a listing.
type Module struct {
	Path string // "example.com/app"
	// Dir is the slash path below the root; "." is the root, and "..", "../.." and
	// so on are parents of it when the root is inside of a module.
	Dir string
	// Replaced are the modules that a replace directive takes from a
	// directory below the root: module path to slash path below the root.
	Replaced map[string]string
	Required []string // module paths
	Go       string   // language version, "1.26"
	// Workspace is the directory of the go.work that uses the module; "" is none.
	Workspace string
	Testdata  bool // below a directory "testdata", or one whose name begins with "." or "_"
}

// module is a Module while the directory is listed.
type module struct {
	Module
	number int    // in the listing
	above  string // path of the root below the module's directory, when that is a parent
}

// at reports whether a directory is the module's own.
func (m *module) at(dir string) bool { return m.Dir == cmp.Or(dir, ".") }

// packageAt returns the import path of a directory of the module.
func (m *module) packageAt(dir string) string {
	if m.Dir != "." {
		dir = strings.TrimPrefix(strings.TrimPrefix(dir, m.Dir), "/")
	}
	dir = path.Join(m.above, dir)
	if m.Path == "std" { // the packages of the standard library
		return cmp.Or(dir, "std")
	}
	return path.Join(m.Path, dir)
}

// goMod reads the go.mod of a directory. A file that does not parse makes a module, too,
// since that is where the module around it ends.
func (s *scan) goMod(dir string, testdata bool, part *scan) *module {
	m, err := readGoMod(filepath.Join(s.disk(dir), "go.mod"))
	if err != nil {
		part.gap(join(dir, "go.mod"), err)
	}
	m.Dir, m.Testdata = cmp.Or(dir, "."), testdata
	m.Path = cmp.Or(m.Path, m.Dir)
	m.Replaced = s.below(m.Dir, m.Replaced)
	part.modules = append(part.modules, m)
	return m
}

// readGoMod reads a go.mod; what it can't read is missing in the module, which is never nil.
func readGoMod(file string) (*module, error) {
	m := &module{}
	text, err := readSmall(file)
	if err != nil {
		return m, err
	}
	if m.Path = modfile.ModulePath(text); len(m.Path) > LongPath {
		m.Path = ""
		return m, fmt.Errorf("its module path has more than %d bytes, so the module is called by its directory", LongPath)
	}
	mod, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		return m, errors.New("it does not parse: " + firstLine(err, file))
	}
	// Lax parsing leaves out what is of no use in a dependency. A directive that
	// this version of the parser does not know is no reason to lose the others.
	if strict, err := modfile.Parse(file, text, nil); err == nil {
		mod = strict
	}
	if mod.Module != nil {
		m.Path = mod.Module.Mod.Path
	}
	if mod.Go != nil {
		m.Go = mod.Go.Version
	}
	for _, r := range mod.Require {
		m.Required = append(m.Required, r.Mod.Path)
	}
	m.Replaced = replaced(mod.Replace)
	return m, nil
}

// replaced returns the replacements by directories, as they are written.
func replaced(list []*modfile.Replace) map[string]string {
	var out map[string]string
	for _, r := range list {
		if r.New.Version == "" {
			if out == nil {
				out = map[string]string{}
			}
			out[r.Old.Path] = r.New.Path
		}
	}
	return out
}

// below makes slash paths below the root of directories that are written in a file of dir,
// without those that are elsewhere.
func (s *scan) below(dir string, written map[string]string) map[string]string {
	var out map[string]string
	for from, to := range written {
		if to, ok := s.pathBelow(dir, to); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[from] = to
		}
	}
	return out
}

func (s *scan) pathBelow(dir, written string) (string, bool) {
	if filepath.IsAbs(written) {
		rel, err := filepath.Rel(s.root, written)
		return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
	}
	p := path.Join(dir, filepath.ToSlash(written))
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

// workspace is a go.work.
type workspace struct {
	dir      string // slash path below the root, "." is the root
	uses     map[string]bool
	replaced map[string]string
}

func (s *scan) goWork(dir string, part *scan) {
	file := filepath.Join(s.disk(dir), "go.work")
	text, err := readSmall(file)
	if err != nil {
		part.gap(join(dir, "go.work"), err)
		return
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		part.gap(join(dir, "go.work"), errors.New("it does not parse: "+firstLine(err, file)))
		return
	}
	w := &workspace{dir: cmp.Or(dir, "."), uses: map[string]bool{}}
	for _, u := range work.Use {
		if at, ok := s.pathBelow(w.dir, u.Path); ok {
			w.uses[at] = true
		}
	}
	w.replaced = s.below(w.dir, replaced(work.Replace))
	part.spaces = append(part.spaces, w)
}

// applyWorkspaces tells modules which workspace uses them. Replacements of a workspace go before those of
// its modules. Of several workspaces that use a module the nearest one counts.
func (s *scan) applyWorkspaces() {
	slices.SortFunc(s.spaces, func(a, b *workspace) int {
		return cmp.Or(strings.Count(b.dir, "/")-strings.Count(a.dir, "/"), len(b.dir)-len(a.dir), strings.Compare(a.dir, b.dir))
	})
	for _, w := range s.spaces {
		for _, m := range s.modules {
			if m.Workspace != "" || !w.uses[m.Dir] {
				continue
			}
			m.Workspace = w.dir
			for from, to := range w.replaced {
				if m.Replaced == nil {
					m.Replaced = map[string]string{}
				}
				m.Replaced[from] = to
			}
		}
	}
}

// moduleAbove returns the module that the root is inside of; nil if it is none, or has a go.mod itself.
// The search ends at the git repository's own directory.
func (s *scan) moduleAbove(git *repository) *module {
	if exists(filepath.Join(s.root, "go.mod")) {
		return nil
	}
	up := ""
	for dir := s.root; dir != git.top && filepath.Dir(dir) != dir; {
		dir = filepath.Dir(dir)
		up = join(up, "..")
		if file := filepath.Join(dir, "go.mod"); exists(file) {
			m, _ := readGoMod(file)
			rel, err := filepath.Rel(dir, s.root)
			if m.Path == "" || err != nil {
				return nil
			}
			m.Dir, m.above = up, filepath.ToSlash(rel)
			m.Replaced = s.below(m.Dir, m.Replaced)
			return m
		}
	}
	return nil
}

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// firstLine is the first line of a parser's error, without the file's name.
func firstLine(err error, file string) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, file+":")
}

// smallFile is more than a file has that people write about modules or what to ignore.
const smallFile = 4 << 20

// readSmall reads a regular file that is not over smallFile.
func readSmall(file string) ([]byte, error) { return ReadRegular(file, smallFile) }
