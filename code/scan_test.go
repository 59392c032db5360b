package code_test

import (
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/code"
)

// tree writes the files of an archive into a new directory.
func tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		put(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	return dir
}

func put(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func list(t testing.TB, dir string, o code.Options) *code.Listing {
	t.Helper()
	l, err := code.Scan(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// entries has a line for each file: path, directory of the module, import path, properties.
func entries(l *code.Listing) string {
	var b strings.Builder
	for _, e := range l.Files {
		module := "-"
		if e.Module >= 0 {
			module = l.Modules[e.Module].Dir
		}
		fmt.Fprintf(&b, "%s %s %s", e.Path, module, e.Package)
		for _, c := range []struct {
			is   bool
			name string
		}{{e.Test, "test"}, {e.Vendored, "vendored"}, {e.Testdata, "testdata"}, {e.Ignored, "ignored"}, {e.TooLarge, "large"}, {e.Platform != "", e.Platform}} {
			if c.is {
				b.WriteString(" " + c.name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestScan(t *testing.T) {
	dir := tree(t, `
-- go.mod --
module example.com/app
go 1.26
require example.com/lib v1.2.3
replace example.com/lib => ./lib
replace example.com/far => ../far
-- go.work --
go 1.26
use .
use ./tools
replace example.com/x => ./lib
-- main.go --
-- main_test.go --
-- a/os_windows.go --
-- a/x_linux_arm64_test.go --
-- a/linux.go --
-- a/testdata/m/go.mod --
module example.com/app
-- a/testdata/m/x.go --
-- a/_old/x.go --
-- a/.hidden/x.go --
-- a/_y.go --
-- lib/go.mod --
module "example.com/lib"
-- lib/v/vendor/x.go --
-- lib/vendor/example.com/q/r/r.go --
-- lib/vendor/example.com/q/go.mod --
module wrong
-- tools/go.mod --
module example.com/tools // nested
-- tools/cmd/x/x.go --
-- broken/go.mod --
module example.com/broken
require (
-- broken/x.go --
-- vendor/modules.txt --
-- vendor/golang.org/x/y/y.go --
-- .git/x.go --
-- readme.md --
`)
	l := list(t, dir, code.Options{})
	want := `a/.hidden/x.go . example.com/app/a/.hidden testdata
a/_old/x.go . example.com/app/a/_old testdata
a/_y.go . example.com/app/a testdata
a/linux.go . example.com/app/a
a/os_windows.go . example.com/app/a windows
a/testdata/m/x.go a/testdata/m example.com/app testdata
a/x_linux_arm64_test.go . example.com/app/a test linux,arm64
broken/x.go broken example.com/broken
lib/v/vendor/x.go lib example.com/lib/v/vendor
lib/vendor/example.com/q/r/r.go lib example.com/q/r vendored
main.go . example.com/app
main_test.go . example.com/app test
tools/cmd/x/x.go tools example.com/tools/cmd/x
vendor/golang.org/x/y/y.go . golang.org/x/y vendored
`
	if got := entries(l); got != want {
		t.Errorf("files\n%s, want\n%s", got, want)
	}
	var modules []string
	for _, m := range l.Modules {
		modules = append(modules, fmt.Sprintf("%s %s %v %v %q %q %v", m.Dir, m.Path, m.Replaced, m.Required, m.Go, m.Workspace, m.Testdata))
	}
	want = `. example.com/app map[example.com/lib:lib example.com/x:lib] [example.com/lib] "1.26" "." false
a/testdata/m example.com/app map[] [] "" "" true
broken example.com/broken map[] [] "" "" false
lib example.com/lib map[] [] "" "" false
tools example.com/tools map[example.com/x:lib] [] "" "." false`
	if got := strings.Join(modules, "\n"); got != want {
		t.Errorf("modules\n%s, want\n%s", got, want)
	}
	if len(l.Gaps) != 1 || l.Gaps[0].Path != "broken/go.mod" || !strings.HasPrefix(l.Gaps[0].What, "it does not parse: ") {
		t.Errorf("gaps are %q", l.Gaps)
	}
	inside := list(t, filepath.Join(dir, "tools", "cmd"), code.Options{})
	if got, want := entries(inside), "x/x.go .. example.com/tools/cmd/x\n"; got != want {
		t.Errorf("a directory inside of a module has %q, want %q", got, want)
	}
	for range 5 {
		if again := list(t, dir, code.Options{}); !slices.Equal(again.Files, l.Files) {
			t.Error("the same directory is listed in another way")
		}
	}
}

// TestScanHostile lists what is in directories by accident or malice.
func TestScanHostile(t *testing.T) {
	dir := tree(t, "-- in/go.mod --\nmodule m\n-- in/a.go --\n-- in/dir.go/b.go --\n-- out/c.go --\n-- in/.gitignore --\n[\n")
	in := filepath.Join(dir, "in")
	put(t, filepath.Join(in, "big.go"), strings.Repeat("x", 2000))
	want := []string{"a.go", "big.go", "dir.go/b.go"}
	if runtime.GOOS != "windows" {
		put(t, filepath.Join(in, "new\nline\x1b[31m.go"), "")
		put(t, filepath.Join(in, "caf\xe9.go"), "")
		want = append(want, "caf\xe9.go", "new\nline\x1b[31m.go", "here.go")
		for name, to := range map[string]string{"here.go": "a.go", "outer.go": "../out/c.go", "loop": ".", "loop.go": "loop.go", "gone.go": "none", "out": "../out"} {
			if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
				t.Fatal(err)
			}
		}
		secret := filepath.Join(in, "secret")
		put(t, filepath.Join(secret, "d.go"), "")
		os.Chmod(secret, 0)
		defer os.Chmod(secret, 0o700)
		if os.Geteuid() == 0 {
			want = append(want, "secret/d.go") // nothing is secret to root
		}
	}
	l := list(t, in, code.Options{Large: 1000})
	var got []string
	for _, e := range l.Files {
		got = append(got, e.Path)
		if e.TooLarge != (e.Path == "big.go") {
			t.Errorf("%q has TooLarge %v", e.Path, e.TooLarge)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	if runtime.GOOS == "windows" {
		return
	}
	var gaps []string
	for _, g := range l.Gaps {
		gaps = append(gaps, g.Path)
	}
	want = []string{"loop.go", "outer.go"}
	if os.Geteuid() != 0 {
		want = append(want, "secret")
	}
	if !slices.Equal(gaps, want) {
		t.Errorf("gaps are %q, want %q", l.Gaps, want)
	}
	if _, err := code.Scan(filepath.Join(in, "none"), code.Options{}); err == nil {
		t.Error("a directory that does not exist is listed")
	}
	if _, err := code.Scan(filepath.Join(in, "a.go"), code.Options{}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file is listed: %v", err)
	}
}

// git runs git in a directory, without the configuration of who runs the test.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// gitFiles are the Go files that git does not ignore: tracked ones and others.
func gitFiles(t testing.TB, dir string) []string {
	var out []string
	for f := range strings.SplitSeq(git(t, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"), "\x00") {
		if strings.HasSuffix(f, ".go") {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

func paths(l *code.Listing) (out []string) {
	for _, e := range l.Files {
		out = append(out, e.Path)
	}
	return out
}

// TestIgnoredFiles holds the listing against git's.
func TestIgnoredFiles(t *testing.T) {
	dir := tree(t, `
-- .gitignore --
# comment
/app
*.pb.go
!keep.pb.go
build/
deep/**/x.go
**/anywhere/y.go
trailing.go   
\!odd.go
[!a-c]z.go
-- app/x.go --
-- cmd/app/x.go --
-- a.pb.go --
-- keep.pb.go --
-- sub/.gitignore --
!a.pb.go
/own.go
-- sub/a.pb.go --
-- sub/own.go --
-- sub/deeper/own.go --
-- build/x.go --
-- sub/build/keep.pb.go --
-- deep/x.go --
-- deep/a/b/x.go --
-- a/deep/x.go --
-- a/anywhere/y.go --
-- trailing.go --
-- !odd.go --
-- az.go --
-- dz.go --
-- excluded.go --
-- forced/.gitignore --
*
-- forced/yes.go --
-- forced/no.go --
-- forced/in/yes.go --
-- forced/in/no.go --
`)
	git(t, dir, "init", "-q")
	put(t, filepath.Join(dir, ".git", "info", "exclude"), "excluded.go\n")
	git(t, dir, "add", "-f", "forced/yes.go", "forced/in/yes.go")
	for _, version := range []string{"2", "3", "4"} {
		git(t, dir, "update-index", "--force-write-index", "--index-version", version)
		want := gitFiles(t, dir)
		if got := paths(list(t, dir, code.Options{})); !slices.Equal(got, want) {
			t.Errorf("index version %s: files are\n%q, git has\n%q", version, got, want)
		}
	}
	all := list(t, dir, code.Options{Ignored: true})
	if len(all.Files) != 22 {
		t.Errorf("%d files with those that git ignores\n%s", len(all.Files), entries(all))
	}
	var ignored []string
	for _, e := range all.Files {
		if !e.Ignored {
			ignored = append(ignored, e.Path)
		}
	}
	if want := gitFiles(t, dir); !slices.Equal(ignored, want) {
		t.Errorf("not ignored are %q, git has %q", ignored, want)
	}
	// A directory inside of the repository has the rules of those above.
	if got, want := paths(list(t, filepath.Join(dir, "sub"), code.Options{})), gitFiles(t, filepath.Join(dir, "sub")); !slices.Equal(got, want) {
		t.Errorf("files of sub are %q, git has %q", got, want)
	}
}

// TestWorktrees lists a repository in which there is another one, and a second working tree.
func TestWorktrees(t *testing.T) {
	dir := tree(t, "-- a.go --\npackage a\n-- .gitignore --\nb.go\n-- b.go --\n-- other/b.go --\n-- other/c.go --\n-- other/.gitignore --\nc.go\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", "a.go", ".gitignore")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "worktree", "add", "-q", "tree")
	put(t, filepath.Join(dir, "tree", "b.go"), "")
	git(t, filepath.Join(dir, "other"), "init", "-q")
	l := list(t, dir, code.Options{})
	if got, want := paths(l), []string{"a.go", "other/b.go"}; !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	if len(l.Gaps) != 1 || l.Gaps[0].Path != "tree" {
		t.Errorf("gaps are %q", l.Gaps)
	}
	put(t, filepath.Join(dir, ".git", "info", "exclude"), "x.go\n")
	put(t, filepath.Join(dir, "tree", "x.go"), "")
	if got, want := paths(list(t, filepath.Join(dir, "tree"), code.Options{})), []string{"a.go"}; !slices.Equal(got, want) {
		t.Errorf("files of the second working tree are %q, want %q", got, want)
	}
}

// BenchmarkScan lists Go's own sources.
func BenchmarkScan(b *testing.B) {
	files := 0
	for b.Loop() {
		files = len(list(b, build.Default.GOROOT, code.Options{}).Files)
	}
	b.ReportMetric(float64(files), "files")
}
