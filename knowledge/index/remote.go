package index

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// SecretURLError says that a URL has a password or token, which who keeps the URL would keep, too.
type SecretURLError struct{ URL string } // without it

func (e *SecretURLError) Error() string {
	return fmt.Sprintf("%s was given with a user, a password or a query: others can read the URL where it is kept\nleave them out; git's credential helper has passwords and tokens: git help gitcredentials", e.URL)
}

// mostURL is how long a git URL may be, in bytes: an index of a database takes no more than thrice that.
const mostURL = 800

// CheckURL returns why a git URL can't be kept for others to clone: it has a secret, or is none that [Clone]
// takes.
func CheckURL(raw string) error {
	if len(raw) > mostURL {
		return fmt.Errorf("the git URL has %d bytes, and may have %d", len(raw), mostURL)
	}
	shown, _, err := cloneAt(raw)
	if err != nil {
		return &CloneError{shown, err}
	}
	from, _ := splitRef(raw)
	if !strings.Contains(from, "://") {
		return nil
	}
	u, err := url.Parse(from)
	if err != nil {
		return &CloneError{"the URL", err}
	}
	_, password := u.User.Password()
	if password || u.User != nil && u.Scheme == "https" || u.RawQuery != "" {
		u.User, u.RawQuery = nil, ""
		return &SecretURLError{u.String()}
	}
	return nil
}

// FileURL returns the path of a URL that names a directory of this machine, its links followed; "" of others.
func FileURL(raw string) string {
	from, _ := splitRef(raw)
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := filepath.Clean(filepath.FromSlash("/" + u.Path))
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// Remote returns the commit that the default branch of a git URL has, or the branch or tag after "#". It asks
// from the directory of clones: what git finds in others may not be the user's.
func Remote(ctx context.Context, raw, below string) (commit string, err error) {
	shown, _, err := cloneAt(raw)
	if err != nil {
		return "", &CloneError{shown, err}
	}
	if err := os.MkdirAll(below, 0o700); err != nil {
		return "", err
	}
	from, ref := splitRef(raw)
	args := []string{"ls-remote", "-q", "--", from, "HEAD"}
	if ref != "" {
		// Of a tag with a message the commit is listed as "^{}", too. It comes last.
		args = append(args[:len(args)-1], "refs/heads/"+ref, "refs/tags/"+ref, "refs/tags/"+ref+"^{}")
	}
	out, err := openGit(below).run(ctx, "", args...)
	if err != nil {
		return "", failed(ctx, raw, shown, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			found[name] = id
		}
	}
	// A branch goes before a tag of its name, as with clone --branch.
	for _, name := range []string{"HEAD", "refs/heads/" + ref, "refs/tags/" + ref + "^{}", "refs/tags/" + ref} {
		if id := found[name]; id != "" {
			return id, nil
		}
	}
	if ref == "" {
		return "", &CloneError{shown, fmt.Errorf("it has no commits")}
	}
	return "", &CloneError{shown, fmt.Errorf("it has no branch or tag %s", ref)}
}
