package index

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/knowledge"
)

// Forget removes a repository from a store. It is named by its directory, which may be gone, by the
// URL that it was cloned from, or by its name in the store. Its files are left alone, also
// those of a clone. The error is a [*NotKnownError] if the store has no such repository.
func Forget(ctx context.Context, w Store, target string) (*knowledge.Repository, error) {
	all, err := w.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := resolved(target)
	if err != nil {
		return nil, err
	}
	shown := Shown(target)
	is := []func(*knowledge.Repository) bool{
		func(r *knowledge.Repository) bool { return r.Name == target },
		func(r *knowledge.Repository) bool { return r.URL != "" && r.URL == shown },
		func(r *knowledge.Repository) bool { return r.Root == dir },
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	for _, is := range is {
		if i := slices.IndexFunc(all, func(r knowledge.Repository) bool { return is(&r) }); i >= 0 {
			return &all[i], w.Forget(ctx, all[i].ID)
		}
	}
	return nil, &NotKnownError{shown, names}
}

// NotKnownError says that a store does not have a repository.
type NotKnownError struct {
	Target string
	Known  []string // names
}

func (e *NotKnownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no repository %s: none is indexed", e.Target)
	}
	return fmt.Sprintf("no repository %s is indexed: it must be one of %s", e.Target, strings.Join(e.Known, ", "))
}

// resolved is a directory as a store names it: absolute, the links in what is left of it followed.
func resolved(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at, gone := dir, ""; ; at, gone = filepath.Dir(at), filepath.Join(filepath.Base(at), gone) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, gone), nil
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}
