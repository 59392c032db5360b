package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// surroundings is what the modules of a tree name outside of it by relative paths: modules
// that replace others, a workspace and its modules. A copy of the tree is put as deep
// below its own directory as these paths climb, with links to what they name.
type surroundings struct {
	climb     int               // how many levels above the root they reach
	links     map[string]string // place below the highest level: what is there
	workspace string            // go.work outside of the tree; "" if there is none
	notes     []string
}

// look reads the go.mod files and the workspace of a tree.
func look(root string, files []string, workspace string) (surroundings, error) {
	var s surroundings
	outside := map[string]bool{}
	name := func(dir, to, by string) error {
		if filepath.IsAbs(to) {
			if rel, err := filepath.Rel(root, to); err == nil && filepath.IsLocal(rel) {
				s.notes = append(s.notes, fmt.Sprintf("%s names %s by its whole path: a change of it isn't seen there", by, to))
			}
			return nil
		}
		target := filepath.Join(dir, filepath.FromSlash(to))
		rel, err := filepath.Rel(root, target)
		if err != nil || filepath.IsLocal(rel) {
			return nil
		}
		if back, err := filepath.Rel(target, root); err == nil && filepath.IsLocal(back) {
			return fmt.Errorf("trial: %s names %s, which contains this repository: it can't be copied alone", by, to)
		}
		outside[target] = true
		return nil
	}
	for _, f := range files {
		if filepath.Base(f) != "go.mod" || slices.ContainsFunc(strings.Split(f, "/"), func(d string) bool { return d == "testdata" || d == "vendor" }) {
			continue
		}
		file := filepath.Join(root, filepath.FromSlash(f))
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		m, err := modfile.ParseLax(f, data, nil)
		if err != nil {
			continue // the go command will say it
		}
		// ParseLax leaves replace directives out
		if strict, err := modfile.Parse(f, data, nil); err == nil {
			m = strict
		}
		for _, r := range m.Replace {
			if r.New.Version == "" {
				if err := name(filepath.Dir(file), r.New.Path, f); err != nil {
					return s, err
				}
			}
		}
	}
	if workspace != "" {
		rel, err := filepath.Rel(root, workspace)
		inside := err == nil && filepath.IsLocal(rel)
		data, err := os.ReadFile(workspace)
		if err != nil {
			return s, fmt.Errorf("trial: %w", err)
		}
		w, err := modfile.ParseWork(workspace, data, nil)
		if err != nil {
			return s, fmt.Errorf("trial: %w", err)
		}
		for _, u := range w.Use {
			// use . beside the repository's directory, or of one around it, is not in the copy
			if err := name(filepath.Dir(workspace), u.Path, "go.work"); err != nil {
				return s, err
			}
		}
		for _, r := range w.Replace {
			if r.New.Version == "" {
				if err := name(filepath.Dir(workspace), r.New.Path, "go.work"); err != nil {
					return s, err
				}
			}
		}
		if !inside {
			s.workspace = workspace
			outside[workspace] = true
			if sum := strings.TrimSuffix(workspace, ".work") + ".work.sum"; regular(sum) {
				outside[sum] = true
			}
		}
	}
	for target := range outside {
		rel, _ := filepath.Rel(root, target)
		climb := 0
		for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			if part == ".." {
				climb++
			}
		}
		s.climb = max(s.climb, climb)
	}
	top := s.top(root)
	s.links = map[string]string{}
	for target := range outside {
		rel, err := filepath.Rel(top, target)
		if err != nil || !filepath.IsLocal(rel) {
			return s, fmt.Errorf("trial: %s can't be reached from a copy of %s", target, root)
		}
		s.links[rel] = target
	}
	// A directory that is linked holds what is below it.
	for _, place := range sortedKeys(s.links) {
		for d := filepath.Dir(place); d != "."; d = filepath.Dir(d) {
			if _, ok := s.links[d]; ok {
				delete(s.links, place)
			}
		}
	}
	return s, nil
}

// top is the highest level that the paths reach.
func (s surroundings) top(root string) string {
	for range s.climb {
		root = filepath.Dir(root)
	}
	return root
}

// place makes the surroundings in a directory, and returns where the tree's copy goes.
func (s surroundings) place(dir, root string) (string, error) {
	rel := filepath.Base(root)
	if s.climb > 0 {
		var err error
		if rel, err = filepath.Rel(s.top(root), root); err != nil {
			return "", err
		}
	}
	for _, place := range sortedKeys(s.links) {
		to := filepath.Join(dir, place)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", full(err, dir)
		}
		_ = os.Remove(to)
		if s.workspace != "" && strings.HasPrefix(s.links[place], s.workspace) {
			// The go command may write beside a go.work: a copy
			if _, err := copyFile(s.links[place], to, s.top(root)); err != nil {
				return "", full(err, dir)
			}
		} else if err := os.Symlink(s.links[place], to); err != nil {
			return "", full(err, dir)
		}
	}
	return filepath.Join(dir, rel), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
