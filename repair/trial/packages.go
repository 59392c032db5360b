package trial

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"tracerag/repair/patch"
)

// findModules finds the directories of the tree in which go commands run: those of the
// workspace's modules, or that of the user's module and of those within the tree that
// replace one of its dependencies.
func (t *Trial) findModules() ([]string, error) {
	var dirs []string
	add := func(dir string) {
		rel, err := filepath.Rel(t.tree.root, dir)
		if err == nil && filepath.IsLocal(rel) && !slices.Contains(dirs, filepath.ToSlash(rel)) {
			if _, ok := t.base.files[path.Join(filepath.ToSlash(rel), "go.mod")]; ok {
				dirs = append(dirs, filepath.ToSlash(rel))
			}
		}
	}
	for d := t.options.Dir; ; d = filepath.Dir(d) {
		if regular(filepath.Join(d, "go.mod")) {
			add(d)
			break
		}
		if filepath.Dir(d) == d || d == t.tree.root {
			break
		}
	}
	if t.goEnv.work != "" {
		data, err := os.ReadFile(t.goEnv.work)
		if err != nil {
			return nil, fmt.Errorf("trial: %w", err)
		}
		w, err := modfile.ParseWork(t.goEnv.work, data, nil)
		if err != nil {
			return nil, fmt.Errorf("trial: %w", err)
		}
		for _, u := range w.Use {
			dir := filepath.FromSlash(u.Path)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.Dir(t.goEnv.work), dir)
			}
			add(dir)
		}
	} else {
		for i := 0; i < len(dirs); i++ {
			data, err := os.ReadFile(filepath.Join(t.base.dir, filepath.FromSlash(dirs[i]), "go.mod"))
			if err != nil {
				continue
			}
			m, err := modfile.Parse("go.mod", data, nil)
			if err != nil {
				continue
			}
			for _, r := range m.Replace {
				if r.New.Version == "" && !filepath.IsAbs(r.New.Path) {
					add(filepath.Join(t.tree.root, filepath.FromSlash(dirs[i]), filepath.FromSlash(r.New.Path)))
				}
			}
			if i == 0 && len(dirs) > 1 {
				// Only the main module's directives count.
				break
			}
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("trial: no go.mod in %s or above it in %s: run it in a module", t.options.Dir, t.tree.root)
	}
	return dirs, nil
}

// moduleOf is the directory of the module that a file of the tree belongs to.
func (s state) moduleOf(name string) string {
	for d := path.Dir(name); ; d = path.Dir(d) {
		if _, ok := s.want(path.Join(d, "go.mod")); ok {
			return d
		}
		if d == "." {
			return ""
		}
	}
}

// outside names a changed file that belongs to none of the modules whose tests are run.
func (t *Trial) outside(st state) string {
	for _, name := range sortedKeys(st.changed) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if m := st.moduleOf(name); !slices.Contains(t.modules, m) {
			return name
		}
	}
	return ""
}

// packages lists what a trial is about: the suite, the packages of the wanted tests and
// those of a patch.
func (s *slot) packages(ctx context.Context, wanted []TestID, p patch.Patch) ([]*pkg, error) {
	t := s.trial
	var list []*pkg
	seen := map[string]bool{}
	for i, m := range t.modules {
		dir := filepath.Join(s.root, filepath.FromSlash(m))
		patterns := []string{"./..."}
		if len(t.options.Suite) > 0 {
			patterns = slices.Clone(t.options.Suite)
			if i > 0 {
				patterns = nil // the patterns are those of the user's module
			}
			for _, f := range p.Files {
				d := path.Dir(f.Name)
				within, err := filepath.Rel(m, d)
				if err == nil && filepath.IsLocal(within) && strings.HasSuffix(f.Name, ".go") {
					patterns = append(patterns, "./"+filepath.ToSlash(within))
				}
			}
		}
		if i == 0 {
			for _, w := range wanted {
				patterns = append(patterns, w.Package)
			}
		}
		if len(patterns) == 0 {
			continue
		}
		slices.Sort(patterns)
		got, err := s.list(ctx, dir, slices.Compact(patterns)...)
		if err != nil {
			return nil, err
		}
		for _, p := range got {
			if !seen[p.ImportPath] && (within(s.root, p.Dir) || p.Dir == "") {
				seen[p.ImportPath] = true
				list = append(list, p)
			}
		}
	}
	depend(list)
	slices.SortFunc(list, func(a, b *pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return list, nil
}

func within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}

// changedPackages are the packages that a patch's files belong to: those of their
// directory, or of the nearest above it (embedded files, testdata). all is true if a
// file decides on the build of all packages.
func (s *slot) changedPackages(list []*pkg, p patch.Patch) (changed []string, all bool) {
	by := map[string]string{}
	for _, q := range list {
		by[q.Dir] = q.ImportPath
	}
	for _, f := range p.Files {
		switch path.Base(f.Name) {
		case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
			all = true
		}
		for d := filepath.Dir(filepath.Join(s.root, filepath.FromSlash(f.Name))); within(s.root, d); d = filepath.Dir(d) {
			if q, ok := by[d]; ok {
				changed = append(changed, q)
				break
			}
			if d == s.root {
				break
			}
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed), all
}

// dependents are the packages that depend on changed ones, they or their tests.
func dependents(list []*pkg, changed []string, all bool) []*pkg {
	var out []*pkg
	for _, p := range list {
		if all || slices.ContainsFunc(changed, func(c string) bool { return p.all[c] }) {
			out = append(out, p)
		}
	}
	return out
}

// byModule groups packages by the directory in which go commands about them run.
func byModule(list []*pkg) (dirs []string, of map[string][]string) {
	of = map[string][]string{}
	for _, p := range list {
		if of[p.module] == nil {
			dirs = append(dirs, p.module)
		}
		of[p.module] = append(of[p.module], p.ImportPath)
	}
	return dirs, of
}
