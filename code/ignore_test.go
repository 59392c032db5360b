package code

import (
	"bytes"
	"fmt"
	"go/build"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIgnoreIsGits makes patterns and paths at random and asks git about them.
func TestIgnoreIsGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run := func(stdin string, args ...string) []byte {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		cmd.Stdin = strings.NewReader(stdin)
		out, _ := cmd.Output() // fails where nothing is ignored
		return out
	}
	run("", "init", "-q")
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	pattern := func() string {
		var b strings.Builder
		for range 1 + random.IntN(5) {
			b.WriteString(pick("a", "b", "a", "b", "/", "/", "*", "**", "/**/", "?", "[ab]", "[!a]", "[^b]", "[]a]", "[a-b]", "[!-/]", "[[:alpha:]]", `\a`, `\*`, "é", "[", "]", " ", `\ `, "-", "#", "!", "[b-a]", "[!b-a]", `[\]]`, "[a-", `\`))
		}
		return pick("", "", "", "!", "/", "#", "**/") + b.String() + pick("", "", "", "/", " ", "/**", "\r")
	}
	name := func() string {
		var b strings.Builder
		for range 1 + random.IntN(3) {
			b.WriteString(pick("a", "b", "a", "b", "ab", "é", "]", "-", "*", "!", " ", "#"))
		}
		return b.String()
	}
	for range 100 {
		var rules, asked []string
		for range 1 + []int{random.IntN(3), random.IntN(20)}[random.IntN(2)] {
			rules = append(rules, pattern())
		}
		for range 60 {
			path := name()
			for range random.IntN(3) {
				path += "/" + name()
			}
			asked = append(asked, path)
		}
		text := strings.Join(rules, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		// None of the paths exists, so that git takes the last element for a file.
		out := run(strings.Join(asked, "\x00")+"\x00", "check-ignore", "-z", "--no-index", "--stdin")
		ignored := map[string]bool{}
		for p := range bytes.SplitSeq(out, []byte{0}) {
			ignored[string(p)] = true
		}
		f := parseIgnore([]byte(text), "", nil)
		for _, path := range asked {
			got := false
			for i := 0; i <= len(path) && !got; i++ {
				if i == len(path) || path[i] == '/' {
					got = f.ignores(path[:i], i < len(path))
				}
			}
			if got != ignored[path] {
				t.Errorf("%q: ignored is %v, git says %v, by\n%q", path, got, ignored[path], text)
			}
		}
	}
}

// TestManyPatterns lists a directory whose .gitignore has hundreds of thousands of lines: that
// takes no longer than reading them, and what is left out is said.
func TestManyPatterns(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n"}
	for i := range 2000 {
		files[fmt.Sprintf("file%d.go", i)] = "package p\n"
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	many := func(line string) string {
		var b strings.Builder
		for i := range 200_000 {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		files      int
		gap        string
	}{
		{"names", "file1.go\nfile2.go\n" + many("x%d.go\n") + "!file1.go\n", 1999, ""},
		{"paths", "/file1.go\n/file2.go\n" + many("x/%d.go\n") + "!/file1.go\n", 1999, ""},
		{"ends", "*file1.go\n*file2.go\n" + many("*x%d.go\n") + "!*file1.go\n", 1999, ""},
		{"wildcards", "file1?.go\n" + many("f*x%d.go\n") + "!file1?.go\nfile1.go\n", 1989, "too many patterns"},
		{"long", "file1.go\n" + strings.Repeat("[a]", 2000) + "\n", 1999, "too many patterns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.text) > smallFile {
				t.Fatal("the file is too large to be read")
			}
			if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			l, err := Scan(dir, Options{})
			if err != nil || len(l.Files) != c.files {
				t.Fatalf("%d files, %v; want %d", len(l.Files), err, c.files)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if c.gap == "" && len(l.Gaps) > 0 || c.gap != "" && (len(l.Gaps) != 1 || l.Gaps[0].Path != ".gitignore" || !strings.Contains(l.Gaps[0].What, c.gap)) {
				t.Errorf("gaps: %v", l.Gaps)
			}
		})
	}
}

// TestPlatform asks go/build what names imply.
func TestPlatform(t *testing.T) {
	for _, name := range []string{
		"a.go", "linux.go", "a_linux.go", "a_linux_test.go", "a_linux_amd64.go", "a_amd64_linux.go", "_linux.go", "linux_test.go",
		"a_windows_b.go", "a_b_windows_arm64_test.go", "a_unix.go", "a_linux.x.go", "amd64.go", "linux_amd64.go", "a__linux.go",
		"a_js_wasm.go", "a_wasip1.go", "a_test_linux.go", "a_linux_test_test.go", "_test.go", "a_.go", "x_zos_s390x.go", "x_nacl.go",
	} {
		p := platform(name)
		for system := range systems {
			for arch := range architectures {
				c := build.Context{GOOS: system, GOARCH: arch, Compiler: "gc",
					OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p")), nil }}
				want, err := c.MatchFile("", name)
				if err != nil {
					t.Fatal(err)
				}
				got := name[0] != '_' && name[0] != '.'
				for part := range strings.SplitSeq(p, ",") {
					got = got && (part == "" || part == system || part == arch ||
						part == "linux" && system == "android" || part == "solaris" && system == "illumos" || part == "darwin" && system == "ios")
				}
				if got != want {
					t.Fatalf("%s has platform %q, but for %s/%s go/build says %v", name, p, system, arch, want)
				}
			}
		}
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add([]byte("/a/**/b\n!*.go\n[!a-z[:digit:]]x\n"), "a/x/b")
	f.Add([]byte("._*\n[._]*.s[a-w][!/a]?\n**/.hg*\n\\#*\\#\n"), ".hg/x.swp")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		rules := parseIgnore(text, "", nil)
		rules.ignores(path, true)
		if rules == nil {
			return
		}
		for _, r := range rules.patterns {
			if r.pattern != nil && r.pattern.MatchString(bytewise(path)) && !r.mayMatch(path) {
				t.Errorf("%q matches %s, and was not asked about", path, r.pattern)
			}
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 62) + "a.go\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 62) + "\x00a.go\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		paths, _ := indexPaths(text, 20)
		for _, p := range paths {
			if !strings.HasSuffix(p, ".go") {
				t.Errorf("%q is no Go file", p)
			}
		}
	})
}
