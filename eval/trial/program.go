package trial

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/phrase"
	"tracerag/trace/symbol"
)

// Program builds or installs an experiment's program, and returns its path. It calls begun
// before each step that takes time, and done after it.
func Program(ctx context.Context, x *eval.Experiment, dir *results.Dir, begun func(Step) (done func())) (string, error) {
	module, version, ok := x.Program.Module()
	if ok {
		return installed(ctx, module, version, begun)
	}
	from := filepath.FromSlash(string(x.Program))
	if !filepath.IsAbs(from) {
		from = filepath.Join(x.Dir(), from)
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return "", fmt.Errorf("program: directory %s not found", phrase.Quote(from))
	}
	defer begun(Step{What: "building " + string(x.Program)})()
	// Without the version control's state, which changes with every commit, an
	// unchanged program is the same binary.
	to := dir.Path("bin", x.Name)
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	return goBuilds(ctx, to, from, nil, "build", "-buildvcs=false", "-o", "{}", ".")
}

// installed returns the path of a program that go install has put among the user's
// cached files, now or earlier.
func installed(ctx context.Context, module, version string, begun func(Step) func()) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("program %s: %w", module, err)
	}
	release, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("program %s: the go command is required: %w", module, err)
	}
	at := module + "@" + version
	to := filepath.Join(cache, "tracerag", "programs", strings.ReplaceAll(at, "/", "!"), strings.TrimSpace(string(release)))
	if program, err := onlyFile(to); err == nil {
		return program, nil
	}
	defer begun(Step{What: "installing " + symbol.Base(module), Note: "go install " + at})()
	return goBuilds(ctx, to, "", []string{"GOBIN={}", "GOWORK=off", "GOFLAGS="}, "install", at)
}

// goBuilds runs the go command, which is to put one program into a directory that
// "{}" represents, and moves that directory to where it belongs when it is whole.
func goBuilds(ctx context.Context, to, from string, env []string, args ...string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{}", tmp+string(filepath.Separator))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = from
	if from == "" {
		cmd.Dir = tmp // outside of any module
	}
	cmd.Env = append(os.Environ(), "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	for _, v := range env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "{}", tmp))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("program: go %s: %w%s", args[0], err, lastLines(string(out)))
	}
	if err := os.Rename(tmp, to); err != nil && !isDirectory(to) { // another process may have been faster
		return "", err
	}
	return onlyFile(to)
}

// onlyFile returns the path of the file in a directory that holds one.
func onlyFile(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("program: %d files in %s, want one program", len(entries), dir)
	}
	return filepath.Join(dir, entries[0].Name()), nil
}

// lastLines is the end of what a program printed, printed below an error.
func lastLines(text string) string {
	const most = 10
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if text = strings.Join(lines[max(0, len(lines)-most):], "\n"); text == "" {
		return ""
	}
	return "\n" + text
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
