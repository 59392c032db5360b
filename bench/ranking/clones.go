package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"tracerag/rank"
)

// readSources gives a case's functions their texts, out of a git clone of its
// repository below dir, as they were before the fix. Nothing of the clone is
// built, run or checked out.
func (b *bug) readSources(dir string) error {
	clone, err := findClone(dir, b.Repo)
	if err != nil {
		return err
	}
	files, err := goFiles(clone, b.Base)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", b.Repo, b.Base, err)
	}
	type place struct {
		file string
		line int
	}
	at := map[place]*executed{}
	for i := range b.Executed {
		x := &b.Executed[i]
		at[place{x.File, x.Line}] = x
	}
	for _, f := range files {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, f.name, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // a file that does not compile has nothing that ran
		}
		for _, d := range parsed.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			fn := rank.Function{
				Package: path.Join(b.Module, path.Dir(f.name)),
				Name:    declName(decl),
				Doc:     decl.Doc.Text(),
				Text:    string(f.text[fset.Position(decl.Pos()).Offset:fset.Position(decl.End()).Offset]),
			}
			if x := at[place{f.name, fset.Position(decl.Pos()).Line}]; x != nil {
				x.Doc, x.Text = fn.Doc, fn.Text
			} else if !strings.HasSuffix(f.name, "_test.go") {
				b.Others = append(b.Others, fn)
			}
		}
	}
	for _, x := range b.Executed {
		if x.Text == "" {
			return fmt.Errorf("%s: %s has no function %s at line %d of %s", b.ID, b.Base, x.Name, x.Line, x.File)
		}
	}
	return nil
}

// declName returns the name of a declaration as the corpus has it.
func declName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	star := false
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			star, t = true, x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			if star {
				return "(*" + x.Name + ")." + d.Name.Name
			}
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// findClone returns the clone of owner/name, which may be kept as owner/name,
// name, or owner+name, a work tree or a bare repository.
func findClone(dir, repo string) (string, error) {
	owner, name, _ := strings.Cut(repo, "/")
	for _, p := range []string{repo, name, owner + "+" + name, owner + "+" + name + "/repo", name + ".git", repo + ".git"} {
		p = filepath.Join(dir, p)
		if exec.Command("git", "-C", p, "rev-parse", "--git-dir").Run() == nil && isRepository(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("no git clone of %s below %s: clone it there as %s", repo, dir, repo)
}

// isRepository tells a clone from a directory within some other work tree.
func isRepository(dir string) bool {
	for _, mark := range []string{".git", "HEAD"} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}

type file struct {
	name string
	text []byte
}

// goFiles returns the Go files of a commit but for testdata.
func goFiles(clone, commit string) ([]file, error) {
	list, err := git(clone, nil, "ls-tree", "-r", commit)
	if err != nil {
		return nil, err
	}
	var files []file
	var ids bytes.Buffer
	for line := range strings.Lines(string(list)) {
		// mode, type and id, a tab, the name
		about, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(about)
		if len(fields) == 3 && fields[1] == "blob" && strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/") {
			files = append(files, file{name: name})
			fmt.Fprintln(&ids, fields[2])
		}
	}
	objects, err := git(clone, &ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(objects))
	for i := range files {
		// a line with id, type and size, the text, a line end
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].name, err)
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].name, err)
		}
		files[i].text = text[:size]
	}
	return files, nil
}

func git(clone string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", clone}, args...)...)
	cmd.Stdin = stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
