package index

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// CloneError says why a URL can't be cloned.
type CloneError struct {
	URL string // without a password or token
	Err error
}

func (e *CloneError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

func (e *CloneError) Unwrap() error { return e.Err }

// scpLike is how ssh's places are written by hand: "git@host:owner/name".
var scpLike = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]{2,}):([^/].*|/[^/].*)$`)

// IsURL reports whether an argument names a repository elsewhere, and not a directory.
func IsURL(arg string) bool {
	return strings.Contains(arg, "://") || scpLike.MatchString(arg) && !exists(arg)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Clone makes a clone of a repository below a directory, or brings the one that is there up to
// date, and returns the working tree. Only https, ssh and file are taken. Nothing of the
// repository is run: no hook, no filter, no submodule.
func Clone(ctx context.Context, raw, below string) (dir string, err error) {
	shown, place, err := cloneAt(raw)
	if err != nil {
		return "", &CloneError{shown, err}
	}
	removeUnfinished(below)
	dir = filepath.Join(below, place)
	if exists(filepath.Join(dir, ".git")) {
		g := openGit(dir)
		// The clone's own configuration is not asked for the URL: it may have been changed.
		_, err = g.run(ctx, "", "fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--", raw, "HEAD")
		if err == nil {
			_, err = g.run(ctx, "", "reset", "-q", "--hard", "FETCH_HEAD")
		}
	} else {
		err = cloneNew(ctx, raw, shown, dir)
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &CloneError{shown, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), raw, shown))}
	}
	return dir, nil
}

// cloneNew clones beside the place, so that a clone that is there is whole.
func cloneNew(ctx context.Context, raw, shown, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	parts, end, err := beginClone(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer end()
	tree := filepath.Join(parts, "tree")
	g := openGit(parts)
	if _, err := g.run(ctx, "", "clone", "-q", "--no-tags", "--single-branch", "--no-recurse-submodules", "--no-hardlinks", "--", raw, tree); err != nil {
		return err
	}
	// git keeps the URL as it was given. Nobody asks for it: see Clone.
	if _, err := openGit(tree).run(ctx, "", "config", "remote.origin.url", shown); err != nil {
		return err
	}
	err = os.Rename(tree, dir)
	if err != nil && exists(filepath.Join(dir, ".git")) { // another process was faster
		return nil
	}
	return err
}

// Shown is an argument of [Locate] as messages may have it: a URL without a password or token.
func Shown(arg string) string {
	if !IsURL(arg) {
		return arg
	}
	shown, _, _ := cloneAt(arg)
	return shown
}

// cloneAt checks a URL. It returns it without a password or token, and where its clone is kept.
func cloneAt(raw string) (shown, place string, err error) {
	if m := scpLike.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		place, err := clonePlace(m[1], m[2])
		return raw, place, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "the URL", "", fmt.Errorf("it can't be read")
	}
	if _, password := u.User.Password(); u.Scheme == "https" || password {
		u.User = nil // "https://TOKEN@host" is usual, too
	}
	shown = u.String()
	switch u.Scheme {
	case "https", "ssh":
		if u.Host == "" {
			return shown, "", fmt.Errorf("it has no host")
		}
		place, err = clonePlace(u.Host, u.Path)
	case "file":
		place, err = clonePlace("file", u.Path)
	default:
		err = fmt.Errorf("only https, ssh and file are taken, not %s", u.Scheme)
	}
	return shown, place, err
}

// CloneDir returns the directory in which [Clone] keeps the clone of a URL, the links in it followed;
// "" of what is none.
func CloneDir(raw, below string) string {
	_, place, err := cloneAt(raw)
	if err != nil {
		return ""
	}
	dir, err := resolved(filepath.Join(below, place))
	if err != nil {
		return ""
	}
	return dir
}

// clonePlace is a path that a repository's place makes: no element of it is special.
func clonePlace(host, path string) (string, error) {
	elements := []string{host}
	for e := range strings.SplitSeq(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/") {
		elements = append(elements, e)
	}
	for i, e := range elements {
		if e == "" || strings.HasPrefix(e, ".") || strings.HasPrefix(e, "-") {
			return "", fmt.Errorf("its path has the element %q", e)
		}
		elements[i] = url.PathEscape(e)
	}
	return filepath.Join(elements...), nil
}
