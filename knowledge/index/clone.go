package index

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tracerag/filelock"
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
// date, and returns the working tree. Only https, ssh and file are taken. A branch or tag may follow the
// URL after "#"; it has a clone of its own. Nothing of the repository is run: no hook, no filter, no
// submodule.
//
// Two processes at once would change one working tree: see [Hold].
func Clone(ctx context.Context, raw, below string) (dir string, err error) {
	shown, place, err := cloneAt(raw)
	if err != nil {
		return "", &CloneError{shown, err}
	}
	removeUnfinished(below)
	dir = filepath.Join(below, place)
	from, ref := splitRef(raw)
	if exists(filepath.Join(dir, ".git")) {
		err = fetch(ctx, openGit(dir), from, ref)
	} else {
		err = cloneNew(ctx, from, ref, shown, dir)
	}
	if err != nil {
		return "", failed(ctx, raw, shown, err)
	}
	return dir, nil
}

// fetch brings a clone up to date. Its own configuration is not asked for the URL: it may have been changed.
func fetch(ctx context.Context, g *git, from, ref string) error {
	names := []string{"HEAD"}
	if ref != "" { // as with clone --branch, a branch goes before a tag
		names = []string{"refs/heads/" + ref, "refs/tags/" + ref}
	}
	var err error
	for _, name := range names {
		_, err = g.run(ctx, "", "fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--", from, name)
		if err == nil || !strings.Contains(err.Error(), "couldn't find remote ref") {
			break
		}
	}
	if err == nil {
		_, err = g.run(ctx, "", "reset", "-q", "--hard", "FETCH_HEAD")
	}
	return err
}

// failed is an error of git without what is secret in a URL.
func failed(ctx context.Context, raw, shown string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	from, _ := splitRef(raw)
	without, _ := splitRef(shown)
	return &CloneError{shown, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), from, without))}
}

// Hold has one process at a time use the clone of a URL, whatever becomes of the process.
func Hold(ctx context.Context, raw, below string, waiting func()) (release func(), err error) {
	shown, place, err := cloneAt(raw)
	if err != nil {
		return nil, &CloneError{shown, err}
	}
	dir, name := filepath.Split(filepath.Join(below, place))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// No part of a clone's place begins with a dot.
	return filelock.Wait(ctx, filepath.Join(dir, ".lock-"+name), waiting)
}

// cloneNew clones beside the place, so that a clone that is there is whole.
func cloneNew(ctx context.Context, from, ref, shown, dir string) error {
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
	args := []string{"clone", "-q", "--no-tags", "--single-branch", "--no-recurse-submodules", "--no-hardlinks"}
	if ref != "" {
		args = append(args, "--branch="+ref)
	}
	if _, err := g.run(ctx, "", append(args, "--", from, tree)...); err != nil {
		return err
	}
	// git keeps the URL as it was given. Nobody asks for it: see Clone.
	without, _ := splitRef(shown)
	if _, err := openGit(tree).run(ctx, "", "config", "remote.origin.url", without); err != nil {
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
	raw, ref := splitRef(raw)
	if shown, place, err = cloneOf(raw); ref == "" {
		return shown, place, err
	}
	if !validRef(ref) && err == nil {
		err = fmt.Errorf("%q is no branch or tag: letters, digits and . _ + - / may be in it", ref)
	}
	return shown + "#" + ref, place + "#" + url.PathEscape(ref), err
}

// splitRef cuts a URL and the branch or tag after it apart.
func splitRef(raw string) (from, ref string) {
	from, ref, _ = strings.Cut(raw, "#")
	return from, ref
}

// refs are the names of branches and tags that are taken: git takes more, some of which it reads as something
// else than a name.
var refs = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*$`)

func validRef(ref string) bool {
	return refs.MatchString(ref) && !strings.Contains(ref, "..") && !strings.HasSuffix(ref, ".lock") && len(ref) < 200
}

// cloneOf is cloneAt without a branch or tag.
func cloneOf(raw string) (shown, place string, err error) {
	if m := scpLike.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		if strings.HasPrefix(m[2], ":") { // "ext::COMMAND": git would take it for another protocol
			return raw, "", fmt.Errorf("only https, ssh and file are taken, not %s", m[1])
		}
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
