package patch

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/code"
)

// realFiles returns Go files of the standard library and of the module cache, the same each time.
func realFiles(t testing.TB, most int) [][]byte {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("go env: ", err)
	}
	var files [][]byte
	for i, dir := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if i == 0 {
			dir = filepath.Join(dir, "src")
		}
		limit := most
		if i == 0 {
			limit = most * 7 / 10
		}
		nth := 0
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "cache") {
				return fs.SkipDir
			}
			if len(files) >= limit {
				return fs.SkipAll
			}
			if !strings.HasSuffix(name, ".go") {
				return nil
			}
			if nth++; nth%9 != 0 { // from many packages
				return nil
			}
			text, err := os.ReadFile(name)
			if err == nil && len(text) < 1<<18 && len(code.Parse(text).Errors) == 0 {
				files = append(files, text)
			}
			return nil
		})
	}
	return files
}

// Random declarations of real files get the bodies of other ones: the result parses, has the new text, and
// is the same to the byte outside of them; with any line endings, byte order mark and end of file.
func TestRealFiles(t *testing.T) {
	most := 1000
	if testing.Short() {
		most = 100
	}
	files := realFiles(t, most)
	r := rand.New(rand.NewPCG(3, 4))
	var bodies, types [][]byte
	for _, text := range files {
		f := code.Parse(text)
		for i := range f.Decls {
			d := &f.Decls[i]
			switch rest := text[d.Head:d.End]; {
			case d.Kind.Callable() && len(rest) > 0:
				bodies = append(bodies, rest)
			case d.Kind == code.Type && bytes.HasPrefix(d.Span.Of(text), []byte("type ")):
				types = append(types, rest)
			}
		}
	}
	exchanged, elided := 0, 0
	for n, text := range files {
		switch n % 8 {
		case 0:
			text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		case 1:
			text = append([]byte("\ufeff"), text...)
		case 2:
			text = bytes.TrimRight(text, "\n")
		}
		f := code.Parse(text)
		var edit strings.Builder
		var want []byte
		at := 0
		for i := range f.Decls {
			d := &f.Decls[i]
			var rest []byte
			switch own := d.Span.Of(text); {
			case r.IntN(len(f.Decls)) >= 3 || nameless(d):
				continue
			case d.Kind.Callable() && d.Head < d.End:
				rest = bodies[r.IntN(len(bodies))]
			case d.Kind == code.Type && bytes.HasPrefix(own, []byte("type ")):
				rest = types[r.IntN(len(types))]
			default:
				continue
			}
			new := bytes.ReplaceAll(append(bytes.Clone(text[d.Start:d.Head]), rest...), []byte("\r\n"), []byte("\n"))
			edit.Write(new)
			edit.WriteString("\n\n")
			if ending(text) == "\r\n" {
				new = bytes.ReplaceAll(new, []byte("\n"), []byte("\r\n"))
			}
			want = append(append(want, text[at:d.Start]...), new...)
			at = d.End
			exchanged++
		}
		want = append(want, text[at:]...)
		if edit.Len() == 0 {
			continue
		}
		c := &change{tree: &tree{now: map[string][]byte{}}, name: "x.go", before: text, text: text, edits: []Edit{{Text: edit.String()}}}
		c.run()
		if len(c.errs) > 0 {
			if strings.Contains(c.errs[0].Error(), "left out") {
				elided++ // a real comment that ends with "..."
				continue
			}
			t.Errorf("%v\n%s", c.errs, edit.String())
			continue
		}
		if !bytes.Equal(c.text, want) {
			i := 0
			for i < len(want) && i < len(c.text) && want[i] == c.text[i] {
				i++
			}
			t.Fatalf("other bytes at %d: %q and not %q, of\n%s", i, c.text[i:min(i+80, len(c.text))], want[i:min(i+80, len(want))], edit.String())
		}
	}
	t.Logf("%d declarations of %d files; %d edits refused for a comment that may stand for code", exchanged, len(files), elided)
	if elided > len(files)/20 {
		t.Errorf("%d edits were refused for a comment that may stand for code", elided)
	}
	if exchanged < most {
		t.Errorf("%d declarations of %d files were exchanged", exchanged, len(files))
	}
}
