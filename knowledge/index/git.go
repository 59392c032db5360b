package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
)

// mostCommits is how many commits of a history are kept.
const mostCommits = 2000

// git asks the git program about a working tree. Nothing that a repository's own
// configuration names is run.
type git struct {
	dir    string
	sha256 bool // names are SHA-256
}

// Head returns the commit that a directory's working tree is of; "" without git.
func Head(ctx context.Context, dir string) string { return openGit(dir).head(ctx, nil) }

func openGit(dir string) *git { return &git{dir: dir} }

// safe are the settings with which git runs nothing that a repository names: no hook, no
// monitor, no program of another protocol, no filter for large files.
var safe = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "log.showSignature=false",
	"-c", "protocol.allow=never", "-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always", "-c", "protocol.file.allow=always",
	"-c", "init.templateDir=", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false",
	"-c", "submodule.recurse=false", "-c", "core.pager=cat",
}

func (g *git) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", append(append([]string{}, safe...), args...)...)
	c.Dir = g.dir
	// Unlike a killed git, one that is asked to end removes what it has begun. A process that it
	// started may hold its outputs, and wait for a server.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Second
	c.Env = append(environment(), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL="+protocols(args[0]))
	c.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // ssh may stay, for the next connection
		var exit *exec.ExitError
		if what := strings.TrimSpace(stderr.String()); errors.As(err, &exit) && what != "" {
			err = errors.New(what)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

// protocols are those by which a command may reach another repository. Only those that are given a
// URL may: others would fetch what is missing from where the repository's own configuration says, with a
// program that it names (git before 2.45 does not know GIT_NO_LAZY_FETCH). The variable goes before all
// configuration, in which "protocol.ext.allow" of a repository goes before our "protocol.allow".
func protocols(command string) string {
	if command == "clone" || command == "fetch" || command == "ls-remote" {
		return "https:ssh:file"
	}
	return "none"
}

// environment is the process's without what a git that started it says of its repository.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX=", "GIT_OBJECT_DIRECTORY=", "GIT_EXTERNAL_DIFF="}, func(p string) bool { return strings.HasPrefix(v, p) })
	})
	if os.Getenv("GIT_SSH_COMMAND") == "" && os.Getenv("GIT_SSH") == "" {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes") // it would ask at the terminal
	}
	return env
}

// waits reports whether git would wait for ever for what is a named pipe or a device in place of one
// of its files.
func (g *git) waits() bool {
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		for _, name := range []string{"", "HEAD", "config", "config.worktree", "commondir", "packed-refs", "shallow", "index"} {
			if info, err := os.Stat(filepath.Join(at, name)); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
				return true
			}
		}
		if _, err := os.Stat(at); err == nil || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// head returns the commit that is checked out; "" without git, or without a commit. Was is the one that was
// checked out before, if that is known.
func (g *git) head(ctx context.Context, was *string) string {
	if g.waits() {
		return ""
	}
	if was != nil && g.still(*was) {
		g.sha256 = len(*was) == 2*sha256.Size
		return *was
	}
	out, err := g.run(ctx, "", "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil {
		return ""
	}
	commit := strings.TrimSpace(string(out))
	g.sha256 = len(commit) == 2*sha256.Size
	return commit
}

// uncommitted returns a hash of the Go files that are not those of a commit: changed, new, or
// removed.
func (g *git) uncommitted(ctx context.Context, commit string, files []knowledge.Stored) (h code.Hash, err error) {
	in := map[string]knowledge.GitHash{}
	if commit != "" {
		if in, err = g.tree(ctx, commit); err != nil {
			return h, err
		}
	}
	s, differs := sha256.New(), false
	for _, f := range files {
		blob, ok := in[f.Path]
		delete(in, f.Path)
		if (!ok || blob != f.Blob) && !f.TooLarge {
			differs = true
			fmt.Fprintf(s, "%s\x00%x\x00", f.Path, f.Hash)
		}
	}
	var gone code.Hash // of a set: the sum of hashes has no order
	for path := range in {
		sum := sha256.Sum256([]byte(path))
		for i := range gone {
			gone[i] ^= sum[i]
		}
	}
	if len(in) > 0 {
		differs = true
		s.Write(gone[:])
	}
	if differs {
		copy(h[:], s.Sum(nil))
	}
	return h, nil
}

// tooLong reports whether a listing has left out the directory of a file.
func tooLong(name string) bool { return strings.LastIndexByte(name, '/') > code.LongPath }

// tree returns the Go files of a commit below the directory.
func (g *git) tree(ctx context.Context, commit string) (map[string]knowledge.GitHash, error) {
	list, err := g.list(ctx, commit, false)
	if err != nil {
		return nil, err
	}
	files := map[string]knowledge.GitHash{}
	for _, f := range list {
		if !strings.HasSuffix(f.name, ".go") || tooLong(f.name) {
			continue
		}
		var h knowledge.GitHash
		b, err := hex.DecodeString(f.id)
		if err != nil {
			return nil, fmt.Errorf("git ls-tree: %w", err)
		}
		copy(h[:], b)
		files[f.name] = h
	}
	return files, nil
}

// updateHistory takes in the last commits that the store has not, and removes those that are not
// among the last any more, or of another branch.
func (p *plan) updateHistory(ctx context.Context, w Store, id int64, r *Result) error {
	if p.stored.ID != 0 && !p.stored.Incomplete && p.commit == p.stored.Snapshot.Commit {
		return nil
	}
	var last []string
	if p.commit != "" {
		out, err := p.git.run(ctx, "", "rev-list", "--max-count="+strconv.Itoa(mostCommits), p.commit)
		if err != nil {
			return p.noHistory(ctx, r, err)
		}
		last = strings.Fields(string(out))
	}
	have, err := w.Commits(ctx, id)
	if err != nil {
		return err
	}
	known, wanted := map[string]bool{}, map[string]bool{}
	for _, c := range have {
		known[c] = true
	}
	var news []string
	for _, c := range last {
		wanted[c] = true
		if !known[c] {
			news = append(news, c)
		}
	}
	var old []string
	for _, c := range have {
		if !wanted[c] {
			old = append(old, c)
		}
	}
	commits, err := p.git.commits(ctx, news)
	if err != nil {
		return p.noHistory(ctx, r, err)
	}
	if len(commits) == 0 && len(old) == 0 {
		return nil
	}
	r.Commits = len(commits)
	return w.SetCommits(ctx, id, commits, old)
}

// noHistory says that git failed: the files are worth taking in without their history.
func (p *plan) noHistory(ctx context.Context, r *Result, err error) error {
	r.Gaps = append(r.Gaps, Gap{".git", err.Error()})
	return ctx.Err()
}

// commits describes commits.
func (g *git) commits(ctx context.Context, names []string) ([]knowledge.Commit, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out, err := g.run(ctx, strings.Join(names, "\n")+"\n", "log", "--no-walk=unsorted", "--stdin", "-z", "--name-only", "--no-renames", "--relative",
		"--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--pretty=tformat:%x00%H%x00%ct%x00%s")
	if err != nil {
		return nil, err
	}
	// A commit begins with an empty part. Its subject may be empty, a path is not: neither has a
	// zero byte, and any other byte may be in both.
	var list []knowledge.Commit
	parts := strings.Split(string(out), "\x00")
	for len(parts) >= 4 && parts[0] == "" {
		seconds, _ := strconv.ParseInt(parts[2], 10, 64) // a damaged date is 1970
		c := knowledge.Commit{ID: parts[1], Time: time.Unix(seconds, 0).UTC(), Subject: parts[3]}
		for parts = parts[4:]; len(parts) > 0 && parts[0] != ""; parts = parts[1:] {
			if path := strings.TrimPrefix(parts[0], "\n"); strings.HasSuffix(path, ".go") && !tooLong(path) {
				c.Files = append(c.Files, path)
			}
		}
		list = append(list, c)
	}
	if len(list) != len(names) {
		return nil, fmt.Errorf("git log: %d of %d commits", len(list), len(names))
	}
	return list, nil
}
