package patch

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Instructions describes to a model the form in which ParseReply reads its changes.
const Instructions = "Give your change as whole Go declarations. Before each block of code write one line with the file's path:\n" +
	"\n" +
	"FILE: path/to/file.go\n" +
	"```go\n" +
	"// the whole new text of each declaration that changes: functions, methods, types, const or var groups\n" +
	"```\n" +
	"\n" +
	"- A declaration that the file has is replaced; one that it does not have is added after the declaration before it in your block. All others stay: do not repeat them.\n" +
	"- Write each declaration from its first to its last line. Never leave code out with a comment such as \"...\" or \"rest unchanged\".\n" +
	"- A doc comment that you leave out stays as it is. Constants that count with iota need their whole group.\n" +
	"- Imports that your code needs are added and unused ones removed. Import a package in the block, above the declarations, if its name alone is ambiguous.\n" +
	"- A new file: \"NEW FILE: path/to/file.go\" in place of FILE, and the whole file with its package clause.\n" +
	"- To remove declarations: a line \"DELETE: path/to/file.go: Name, Type.Method\" outside of all blocks.\n" +
	"- If your code has a line that begins with ```, use a longer fence. Give no diffs, and code in no other blocks.\n"

// Format writes edits as a reply in that form.
func Format(edits []Edit) string {
	var b strings.Builder
	for _, e := range edits {
		if strings.TrimSpace(e.Text) != "" {
			fence := "```"
			for strings.Contains(e.Text, fence) {
				fence += "`"
			}
			head := "FILE"
			if e.New {
				head = "NEW FILE"
			}
			fmt.Fprintf(&b, "%s: %s\n%sgo\n%s\n%s\n\n", head, e.File, fence, strings.TrimSuffix(e.Text, "\n"), fence)
		}
		if len(e.Delete) > 0 {
			fmt.Fprintf(&b, "DELETE: %s: %s\n\n", e.File, strings.Join(e.Delete, ", "))
		}
	}
	return b.String()
}

// ParseReply reads a model's reply about the tree in a directory. It takes prose around the blocks, other fences,
// and other ways to name a file above, at or in a block. What is not certain is an error, which
// says what to write instead: a block without a file, or with two, a file that does not
// exist, a diff, a fence that is not closed.
func ParseReply(dir, reply string) ([]Edit, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	r := &replyReader{tree: t, lines: strings.Split(strings.ReplaceAll(withoutThoughts(reply), "\r\n", "\n"), "\n")}
	r.read()
	if len(r.errs) == 0 && len(r.edits) == 0 {
		r.bad(-1, "the reply has no change: a line \"FILE: path\" and a block of Go code are expected")
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.edits, nil
}

// withoutThoughts cuts off what some models think aloud before they reply.
func withoutThoughts(reply string) string {
	if s := strings.TrimSpace(reply); strings.HasPrefix(s, "<think>") {
		if _, rest, ok := strings.Cut(s, "</think>"); ok {
			return rest
		}
	}
	return reply
}

type replyReader struct {
	tree  *tree
	lines []string
	edits []Edit
	errs  []error
}

func (r *replyReader) bad(line int, what string, args ...any) {
	e := &Error{Kind: BadReply, What: fmt.Sprintf(what, args...)}
	if line >= 0 && line < len(r.lines) && strings.TrimSpace(r.lines[line]) != "" {
		e.Problems = []Problem{{Line: line + 1, Column: 1, What: "here", Source: r.lines[line]}}
	}
	r.errs = append(r.errs, e)
}

var (
	fenceLine  = regexp.MustCompile("^([ \t>]*)(`{3,}|~{3,})[ \t]*(.*)$")
	deleteLine = regexp.MustCompile(`^[\s>*#_-]*(?i:delete|remove)[*_]*\s*:[*_]*\s*(.*)$`)
	goPath     = regexp.MustCompile("[^\\s`\"'*<>()\\[\\]{},;:=|]+\\.go\\b")
	newFile    = regexp.MustCompile(`(?i)\bnew file\b|\(new\)|\bcreate\b`)
	titled     = regexp.MustCompile(`(?i)^\s*(//|/\*)\s*(new file|file|filename|path)?\s*:?\s*[^\s]+\.go\s*(\*/)?\s*(\(new( file)?\))?\s*$`)
)

func (r *replyReader) read() {
	above := "" // the last line of text, if nothing but blank lines followed
	for i := 0; i < len(r.lines); i++ {
		line := r.lines[i]
		if m := fenceLine.FindStringSubmatch(line); m != nil && !strings.Contains(m[3], "`") {
			end := r.block(i, above, m[1], m[2], m[3])
			if end < 0 {
				return
			}
			i, above = end, ""
			continue
		}
		if m := deleteLine.FindStringSubmatch(line); m != nil {
			r.delete(i, m[1])
			above = ""
			continue
		}
		if strings.TrimSpace(line) != "" {
			above = line
		}
	}
}

// block reads a fenced block, and returns its last line; -1 if it does not end.
func (r *replyReader) block(start int, above, indent, fence, info string) int {
	end := -1
	for i := start + 1; i < len(r.lines); i++ {
		if m := fenceLine.FindStringSubmatch(r.lines[i]); m != nil && m[3] == "" && m[2][0] == fence[0] && len(m[2]) >= len(fence) {
			end = i
			break
		}
	}
	if end < 0 {
		r.bad(start, "the block is not closed, so the reply may be cut off: give the whole change again, shorter")
		return -1
	}
	lines := slices.Clone(r.lines[start+1 : end])
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], indent)
	}
	language := strings.ToLower(strings.TrimSpace(info))
	if f := strings.FieldsFunc(language, func(c rune) bool { return strings.ContainsRune(" \t{,:=", c) }); len(f) > 0 {
		language = f[0]
	}
	text := strings.Join(lines, "\n") + "\n"
	isGo := language == "go" || language == "golang" || strings.HasSuffix(language, ".go")
	switch {
	case language == "diff" || language == "patch" || strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ "):
		r.bad(start, "the block is a diff: give whole declarations")
		return end
	case language != "" && !isGo:
		return end // a command, an output
	}
	// The file's name: above the block, at it, in it.
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	var heads []string
	named := goPath.MatchString(above)
	if named {
		heads = append(heads, above)
	}
	if goPath.MatchString(info) {
		heads = append(heads, info)
	}
	if first < len(lines) && titled.MatchString(lines[first]) {
		heads = append(heads, lines[first])
		lines[first] = "" // keeps the parser's lines those of the block
		text = strings.Join(lines, "\n") + "\n"
	}
	file, isNew := "", false
	for _, h := range heads {
		for _, p := range goPath.FindAllString(h, -1) {
			p = path.Clean(p)
			if file != "" && p != file && !strings.HasSuffix(p, "/"+file) && !strings.HasSuffix(file, "/"+p) {
				r.bad(start, "the block may be for %s or for %s: write one path above it", file, p)
				return end
			}
			if len(p) > len(file) {
				file = p
			}
		}
		isNew = isNew || newFile.MatchString(h)
	}
	if file == "" {
		if !isGo {
			if s, problems := parse([]byte(text), true); problems != nil || len(s.decls) == 0 {
				return end // an output without a language
			}
		}
		r.bad(start, "the block has no file: write a line \"FILE: path/to/file.go\" above it")
		return end
	}
	if e := r.edit(start, file, isNew); e != nil {
		e.Text = text
		r.edits = append(r.edits, *e)
	}
	return end
}

// edit returns an edit for a path as a model wrote it.
func (r *replyReader) edit(line int, file string, isNew bool) *Edit {
	name := file
	if rel, err := filepath.Rel(r.tree.dir, filepath.FromSlash(name)); err == nil && filepath.IsAbs(filepath.FromSlash(name)) && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	exists := func(n string) bool {
		if !filepath.IsLocal(filepath.FromSlash(n)) {
			return false
		}
		_, err := os.Lstat(filepath.Join(r.tree.dir, filepath.FromSlash(n)))
		return err == nil
	}
	for _, p := range [...]string{"a/", "b/"} {
		rest, ok := strings.CutPrefix(name, p)
		if ok && !exists(name) && (exists(rest) || isNew && !exists(strings.TrimSuffix(p, "/"))) {
			name = rest
		}
	}
	clean, err := r.tree.goFile(name)
	if err != nil {
		r.errs = append(r.errs, err)
		return nil
	}
	switch there := exists(clean); {
	case isNew && there:
		r.bad(line, "%s exists: write FILE, not NEW FILE, and only what changes", clean)
		return nil
	case !isNew && !there:
		what := clean + " does not exist: write NEW FILE above the block if it is to be new"
		if like := r.like(clean); len(like) > 0 {
			what += ", or one of " + strings.Join(like, ", ")
		}
		r.bad(line, "%s", what)
		return nil
	}
	return &Edit{File: clean, New: isNew}
}

// like returns files of the tree whose path ends like one that does not exist, or has its name.
func (r *replyReader) like(name string) []string {
	repo := r.tree.look()
	var out []string
	for _, dir := range repo.dirs {
		n := path.Join(dir, path.Base(name))
		if _, err := os.Lstat(filepath.Join(r.tree.dir, filepath.FromSlash(n))); err == nil && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 3)]
}

func (r *replyReader) delete(line int, rest string) {
	file := goPath.FindString(rest)
	if file == "" {
		if strings.TrimSpace(rest) != "" && !strings.Contains(rest, " ") {
			r.bad(line, "the names to be removed have no file: write DELETE: path/to/file.go: Name")
		}
		return // prose
	}
	_, names, _ := strings.Cut(rest, file)
	names = strings.Trim(names, " `*_:\t.")
	e := r.edit(line, path.Clean(file), false)
	if e == nil {
		return
	}
	for n := range strings.SplitSeq(names, ",") {
		n = strings.Trim(strings.TrimSpace(n), "`*_. ")
		if rest, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(n), "`"), "and "); ok {
			n = strings.Trim(rest, "`")
		}
		if strings.Contains(n, "T).") || strings.Contains(n, ").") && strings.HasPrefix(n, "(") {
			n = symbol(n)
		}
		if strings.HasPrefix(n, "func ") || strings.HasPrefix(n, "type ") || strings.HasPrefix(n, "var ") || strings.HasPrefix(n, "const ") {
			n = symbol(n)
		}
		if n == "" {
			continue
		}
		if !symbolForm.MatchString(n) {
			r.bad(line, "%q is no declaration's name: write names with commas between them", n)
			return
		}
		e.Delete = append(e.Delete, n)
	}
	if len(e.Delete) == 0 {
		r.bad(line, "nothing is named that is to be removed from %s: write DELETE: %s: Name", e.File, e.File)
		return
	}
	// With the last edit of the file: what an edit both has and removes is known then.
	for i := range slices.Backward(r.edits) {
		if r.edits[i].File == e.File && r.edits[i].Delete == nil {
			r.edits[i].Delete = e.Delete
			return
		}
	}
	r.edits = append(r.edits, *e)
}

var symbolForm = regexp.MustCompile(`^(\(?\*?[\pL_][\pL\pN_]*\)?\.)?[\pL_][\pL\pN_]*(#\d+)?$`)
