package trial_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// state is everything below a directory: names, modes, texts and times.
func state(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprint(&b, rel, " ", info.Mode(), " ", info.ModTime().UnixNano())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			fmt.Fprint(&b, " -> ", to)
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUserTreeStays judges changes whose tests write into their tree, and asks git nothing that writes.
func TestUserTreeStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "begin")
	git(t, dir, "status")
	if err := os.WriteFile(filepath.Join(dir, "sum.go"), archived(sum, "sum.go"), 0o600); err != nil {
		t.Fatal(err) // the index would be refreshed now
	}
	before := state(t, dir)
	o := wholeOptions(t, dir)
	tr := open(t, o)
	baseline(t, tr)
	litter := strings.Replace(good, "package sum\n", "package sum\n\nimport \"os\"\n\nfunc init() {\n\t_ = os.WriteFile(\"litter.go\", []byte(\"package sum\\nfunc {\"), 0o644)\n\t_ = os.WriteFile(\"sum_test.go\", []byte(\"package sum\\n\"), 0o644)\n\t_ = os.Mkdir(\".git\", 0o755)\n\t_ = os.Mkdir(\"closed\", 0o755)\n\t_ = os.WriteFile(\"closed/file\", nil, 0o644)\n\t_ = os.Chmod(\"closed\", 0)\n}\n", 1)
	if v := judge(t, tr, change(t, dir, "sum.go", litter), wantedSum); !v.Accepted {
		t.Errorf("%s", v)
	}
	if v := judge(t, tr, change(t, dir, "sum.go", good), wantedSum); !v.Accepted {
		t.Errorf("after one that writes into its tree: %s", v)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if after := state(t, dir); after != before {
		t.Errorf("the user's tree was\n%s\nand is\n%s", before, after)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Scratch, "trial-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestRunsDoNotMeet has a candidate overwrite a test and, with its size and time kept, a source while its tests run:
// neither its own next step nor the next candidate sees it.
func TestRunsDoNotMeet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Workers = 1
	tr := open(t, o)
	baseline(t, tr)
	bad := strings.Replace(good, "s += n", "s -= n", 1)
	weaken := strings.Replace(bad, "package sum\n", `package sum

import (
	"os"
	"strings"
)

func init() {
	for _, name := range []string{"sum_test.go", "../sum_test.go"} {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		data, _ := os.ReadFile(name)
		_ = os.WriteFile(name, []byte(strings.Replace(string(data), "got != 3", "got == 3", 1)), 0o644)
		_ = os.Chtimes(name, info.ModTime(), info.ModTime())
	}
}
`, 1)
	for range 2 {
		if v := judge(t, tr, change(t, dir, "sum.go", weaken), wantedSum); v.Accepted || v.Stage != trial.Wants {
			t.Errorf("one that changes the test: %s", v)
		}
		if v := judge(t, tr, change(t, dir, "sum.go", bad+"\n"), wantedSum); v.Accepted {
			t.Errorf("the next one: %s", v)
		}
	}
}

// TestPresentState copies what is staged, changed, new and removed; what git ignores only if the go command reads it.
func TestPresentState(t *testing.T) {
	t.Parallel()
	sub := t.TempDir()
	write(t, sub, "-- within.txt --\nof the submodule\n")
	git(t, sub, "init", "-q")
	git(t, sub, "add", ".")
	git(t, sub, "commit", "-qm", "begin")
	dir := t.TempDir()
	write(t, dir, sum)
	write(t, dir, "-- .gitignore --\n*.log\n/gen/\ngo.work\n-- removed.txt --\nx\n-- changed.txt --\nbefore\n-- sub/dir/run.sh --\n#!/bin/sh\n-- readonly.txt --\nr\n")
	git(t, dir, "init", "-q")
	git(t, dir, "submodule", "-q", "add", sub, "module")
	if err := os.Symlink("changed.txt", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(dir, "changed.txt"), filepath.Join(dir, "sub", "whole")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "sub/dir/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "begin")
	write(t, dir, "-- changed.txt --\nafter\n-- staged.txt --\ns\n-- new.txt --\nn\n-- a.log --\nlog\n-- gen/gen.go --\npackage gen\n-- gen/big.bin --\nb\n-- go.work --\ngo 1.25\n\nuse .\n-- nested/file.txt --\nof a repository within\n")
	git(t, filepath.Join(dir, "nested"), "init", "-q")
	git(t, dir, "add", "staged.txt")
	if err := os.Chmod(filepath.Join(dir, "readonly.txt"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "removed.txt")); err != nil {
		t.Fatal(err)
	}
	tr := open(t, options(t, filepath.Join(dir, "use")))
	err := tr.Use(t.Context(), patch.Patch{}, func(c *trial.Copy) error {
		root := c.Root
		var names []string
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				rel, _ := filepath.Rel(root, path)
				names = append(names, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			return err
		}
		want := strings.Fields(".gitignore .gitmodules changed.txt gen/gen.go go.mod go.work link module/within.txt nested/file.txt new.txt readonly.txt staged.txt sub/dir/run.sh sub/whole sum.go sum_test.go use/use.go use/use_test.go")
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("copied\n%q\nnot\n%q", names, want)
		}
		if data, err := os.ReadFile(filepath.Join(root, "link")); err != nil || string(data) != "after\n" {
			t.Errorf("link: %q, %v", data, err)
		}
		// A link by the whole path leads into the copy: writing through it spares the user's file.
		if real, err := filepath.EvalSymlinks(filepath.Join(root, "sub/whole")); err != nil || real != filepath.Join(root, "changed.txt") {
			t.Errorf("sub/whole: %s, %v", real, err)
		}
		for name, mode := range map[string]fs.FileMode{"sub/dir/run.sh": 0o755, "readonly.txt": 0o400} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left := strings.Join(tr.Left(), "\n"); left != "a.log: ignored by git\ngen/: ignored by git, but for 1 Go source" {
		t.Errorf("left: %s", left)
	}
}

const outside = `
-- other/go.mod --
module example.com/other

go 1.25
-- other/other.go --
package other

func One() int { return 1 }
-- a/repo/mod/go.mod --
module example.com/mod

go 1.25

require (
	example.com/other v0.0.0
	example.com/within v0.0.0
)

replace (
	example.com/other => ../../../other
	example.com/within => ../within
)
-- a/repo/within/go.mod --
module example.com/within

go 1.25
-- a/repo/within/within.go --
package within

func Two() int { return 3 }
-- a/repo/within/within_test.go --
package within

import "testing"

func TestOwn(t *testing.T) {}
-- a/repo/mod/mod.go --
package mod

import (
	"example.com/other"
	"example.com/within"
)

func Three() int { return other.One() + within.Two() }
-- a/repo/mod/mod_test.go --
package mod

import "testing"

func TestThree(t *testing.T) {
	if n := Three(); n != 3 {
		t.Error(n)
	}
}
-- a/repo/unused/go.mod --
module example.com/unused
-- a/repo/unused/unused.go --
package unused
`

// TestSurroundings: a module in a directory of its repository, whose replace directives lead into the repository and out of it.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"replace", "workspace within", "workspace around"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			all := t.TempDir()
			write(t, all, outside)
			repo := filepath.Join(all, "a", "repo")
			work := ""
			switch how {
			case "workspace within":
				work = "-- a/repo/go.work --\ngo 1.25\n\nuse (\n\t./mod\n\t./within\n\t../../other\n)\n"
			case "workspace around":
				work = "-- go.work --\ngo 1.25\n\nuse (\n\t./a/repo/mod\n\t./a/repo/within\n\t./other\n)\n"
			}
			if write(t, all, work); work != "" {
				mod := strings.TrimSpace(strings.Split(string(archived(outside, "a/repo/mod/go.mod")), "require")[0])
				write(t, repo, "-- mod/go.mod --\n"+mod+"\n")
			}
			git(t, repo, "init", "-q") // no commit yet
			tr := open(t, options(t, filepath.Join(repo, "mod")))
			wanted := trial.TestID{Package: ".", Name: "TestThree"}
			b, err := tr.Baseline(t.Context(), wanted)
			if err != nil {
				t.Fatal(err)
			}
			if b.Packages["example.com/within"] == nil {
				t.Error("the tests of the module within are not in the baseline")
			}
			v := judge(t, tr, change(t, repo, "within/within.go", "package within\n\nfunc Two() int { return 2 }\n"), wanted)
			if !v.Accepted {
				t.Errorf("%s", v)
			}
			v = judge(t, tr, change(t, repo, "unused/unused.go", "package unused // no test is run of it\n"), wanted)
			if v.Accepted || v.Reason != "unused/unused.go is in a module whose tests are not run here" {
				t.Errorf("%s", v)
			}
		})
	}
}

// TestVendor: a vendor directory is copied whether git keeps it or not, and no change of it is taken.
func TestVendor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, `
-- go.mod --
module example.com/mod

go 1.25

require example.com/dep v1.0.0
-- vendor/modules.txt --
# example.com/dep v1.0.0
## explicit; go 1.25
example.com/dep
-- vendor/example.com/dep/dep.go --
package dep

func One() int { return 1 }
-- mod.go --
package mod

import "example.com/dep"

func Two() int { return dep.One() }
-- mod_test.go --
package mod

import "testing"

func TestTwo(t *testing.T) {
	if Two() != 2 {
		t.Fatal("no")
	}
}
-- .gitignore --
vendor/
`)
	git(t, dir, "init", "-q")
	tr := open(t, options(t, dir))
	wanted := trial.TestID{Package: "example.com/mod", Name: "TestTwo"}
	if _, err := tr.Baseline(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if v := judge(t, tr, change(t, dir, "mod.go", "package mod\n\nimport \"example.com/dep\"\n\nfunc Two() int { return 2 * dep.One() }\n"), wanted); !v.Accepted {
		t.Errorf("%s", v)
	}
	v := judge(t, tr, change(t, dir, "vendor/example.com/dep/dep.go", "package dep\n\nfunc One() int { return 2 }\n"), wanted)
	if v.Accepted || v.Stage != trial.Guard || !strings.Contains(v.Reason, "is a copy of another module") {
		t.Errorf("%s", v)
	}
}

// TestWithoutGit copies all files but those of other tools, and says so.
func TestWithoutGit(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, sum)
	write(t, dir, "-- node_modules/x/index.js --\nx\n-- data.txt --\nd\n")
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	tr := open(t, options(t, filepath.Join(dir, "use")))
	if tr.Root() != dir || !slices.Equal(tr.Left(), []string{"node_modules/"}) {
		t.Errorf("%s, left %q", tr.Root(), tr.Left())
	}
}

// TestCannotOpen: errors that say what to do.
func TestCannotOpen(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	o := options(t, empty)
	if _, err := trial.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no go.mod in "+empty+" or above: run it in a module") {
		t.Error(err)
	}
	dir := t.TempDir()
	write(t, dir, sum)
	o = options(t, dir)
	o.Scratch = filepath.Join(dir, "scratch")
	if _, err := trial.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "choose one outside of "+dir) {
		t.Error(err)
	}
	around := t.TempDir()
	write(t, around, "-- go.mod --\nmodule example.com/around\n-- in/go.mod --\nmodule example.com/in\n\nrequire example.com/around v0.0.0\n\nreplace example.com/around => ../\n")
	git(t, filepath.Join(around, "in"), "init", "-q")
	if _, err := trial.Open(t.Context(), options(t, filepath.Join(around, "in"))); err == nil || !strings.Contains(err.Error(), "which contains this repository") {
		t.Error(err)
	}
}
