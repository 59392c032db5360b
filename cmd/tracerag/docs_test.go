package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// root is the repository, seen from this package.
const root = "../.."

// docs are the documents that are held to what there is.
func docs(t *testing.T) []string {
	t.Helper()
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(more) == 0 {
		t.Fatalf("no documents in docs: %v", err)
	}
	pages, err := filepath.Glob(filepath.Join("topics", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no topics of the help: %v", err)
	}
	own := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"), filepath.Join(root, "CONTRIBUTING.md")}
	return append(own, append(more, pages...)...)
}

// TestDocs holds the documents against the program: what they show can be typed,
// and where they point to is something.
func TestDocs(t *testing.T) {
	f := gatherFacts(t)
	for _, path := range docs(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, fault := range f.check(path, readDoc(t, path)) {
				t.Error(fault)
			}
		})
	}
}

// TestDocsAreComplete looks the other way: what exists is in the documents.
func TestDocsAreComplete(t *testing.T) {
	readme := readDoc(t, filepath.Join(root, "README.md"))
	described := map[string]bool{}
	for _, row := range rows(readme, "Commands") {
		for _, span := range codeSpan.FindAllStringSubmatch(row[0], -1) {
			described[span[1]] = true
		}
	}
	for _, c := range commands {
		if !described[c.name] {
			t.Errorf("README.md: the table of commands has no row for %s", c.name)
		}
	}

	reference := readDoc(t, filepath.Join(root, "docs", "reference.md"))
	told := map[string]bool{}
	for _, row := range rows(reference, "Exit codes") {
		told[strings.Trim(row[0], "` ")] = true
	}
	codes := exitCodes(t)
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		if !told[codes[name]] {
			t.Errorf("docs/reference.md: the table of exit codes has no row for %s, which is %s in codes.go", codes[name], name)
		}
		delete(told, codes[name])
	}
	for code := range told {
		if strings.ContainsAny(code, "0123456789") { // others are headings
			t.Errorf("docs/reference.md: codes.go has no exit code %s", code)
		}
	}

	for _, code := range codes {
		if !regexp.MustCompile(`(?m)^ +` + code + ` +\S`).MatchString(topicText(t, "exit-codes")) {
			t.Errorf("topics/exit-codes.md has no line for exit code %s", code)
		}
	}
	for _, row := range rows(reference, "Environment") {
		for _, span := range codeSpan.FindAllStringSubmatch(row[0], -1) {
			if !strings.Contains(topicText(t, "environment"), span[1]+" ") {
				t.Errorf("topics/environment.md has no line for %s, which docs/reference.md has", span[1])
			}
		}
	}

	// The architecture is written down twice: as a test, and with its reasons.
	documented := map[string][]string{}
	for _, row := range rows(readDoc(t, filepath.Join(root, "docs", "architecture.md")), "Packages") {
		var imports []string
		for _, span := range codeSpan.FindAllStringSubmatch(row[len(row)-1], -1) {
			imports = append(imports, span[1])
		}
		documented[strings.Trim(row[0], "` ")] = imports
	}
	for _, pkg := range slices.Sorted(maps.Keys(layers)) {
		imports, ok := documented[pkg]
		switch {
		case pkg == "cmd/tracerag", strings.HasPrefix(pkg, "fixtures"), strings.HasPrefix(pkg, "bench"), pkg == "llm/llmtest":
		case !ok:
			t.Errorf("docs/architecture.md: the table of packages has no row for %s", pkg)
		case !slices.Equal(slices.Sorted(slices.Values(imports)), slices.Sorted(slices.Values(layers[pkg]))):
			t.Errorf("docs/architecture.md: %s imports %v; imports_test.go allows %v", pkg, imports, layers[pkg])
		}
	}
}

// TestDocFaultsAreFound has a document for each kind of fault: a check that finds
// nothing would be green for ever.
func TestDocFaultsAreFound(t *testing.T) {
	f := gatherFacts(t)
	tests := []struct{ text, want string }{
		{"Try `tracerag trees`.", "no command trees"},
		{"Try `tracerag tree --deep 3`.", "tracerag tree has no flag --deep"},
		{"    $ tracerag run --qiet -- ./app --csv x", "tracerag run has no flag --qiet"},
		{"```sh\nX=1 ./tracerag ask -z \"why?\" | less -R\n```", "tracerag ask has no flag -z"},
		{"    tracerag run --include ./... --nowhere ./app --its-own", "tracerag run has no flag --nowhere"},
		{"The limit is `--max-hit`.", "no command has a flag --max-hit"},
		{"Try `tracerag eval locate --prompts-only`.", "tracerag eval locate has no flag --prompts-only"},
		{"See `tree --dept`.", "tracerag tree has no flag --dept"},
		{"`make tabels` prints them.", "the Makefile has no target tabels"},
		{"`TRACERAG_MODLE` names it.", "no Go file knows TRACERAG_MODLE"},
		{"`TestNothingOfThisName` holds it.", "there is no test TestNothingOfThisName"},
		{"It ends with exit code 4.", "codes.go has no exit code 4"},
		{"See [there](docs/nowhere.md).", "docs/nowhere.md is not there"},
		{"See [there](docs/recorders.md#nowhere).", "docs/recorders.md has no heading #nowhere"},
		{"See [there](#nowhere).", "README.md has no heading #nowhere"},
		{"See [there][n].\n\n[n]: docs/nowhere.md", "docs/nowhere.md is not there"},

		{"# A heading: `tree`\n\nSee [here](#a-heading-tree), [there](https://go.dev/#x), `[no](link)`, `go vet -x`.", ""},
		{"Run `tracerag run -q Q -- ./app --csv data.csv`, `tracerag COMMAND --help`, `tracerag help`.", ""},
		{"    tracerag: the program's own words --like these\n    tracerag tree > x --not-ours", ""},
		{"    tracerag ask \"why --does it?\"   # tracerag and --not a flag", ""},
	}
	for _, tt := range tests {
		faults := f.check(filepath.Join(root, "README.md"), tt.text)
		if tt.want == "" && len(faults) > 0 || tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], tt.want)) {
			t.Errorf("in %q is found %q, want %q", tt.text, faults, tt.want)
		}
	}
}

// TestMessagesNameFlags: what messages advise can be done. Libraries know no flags:
// wayout.go adds them. A flag there belongs to some command, unless a command's name
// is before it.
func TestMessagesNameFlags(t *testing.T) {
	f := gatherFacts(t)
	named := 0
	for _, m := range flagInMessage.FindAllStringSubmatch(messages(t, "wayout.go"), -1) {
		named++
		known := false
		for name, flags := range f.flags {
			if _, ok := flags[m[2]]; ok && (m[1] == "" || m[1] == name) {
				known = true
			}
		}
		if !known {
			t.Errorf("wayout.go advises %s, which no command has", strings.TrimSpace(m[0]))
		}
	}
	if named < 10 {
		t.Errorf("%d flags are found in messages", named)
	}
	for _, pkg := range []string{"llm", "rank", "phrase", "trace", "trace/target", "trace/store", "trace/profiles", "trace/probe"} {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files of %s: %v", pkg, err)
		}
		for _, path := range files {
			for _, m := range flagInMessage.FindAllString(messages(t, path), -1) {
				if !strings.HasSuffix(path, "_test.go") {
					t.Errorf("%s knows the flag %s", path, m)
				}
			}
		}
	}
}

var flagInMessage = regexp.MustCompile(`(?:\b(run|tree|sizes) )?(--[a-z][a-z-]+)`)

// messages are the strings of a Go file.
func messages(t *testing.T, path string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all.WriteString(s + "\n")
			}
		}
		return true
	})
	return all.String()
}

func topicText(t *testing.T, name string) string {
	t.Helper()
	for _, topic := range topics() {
		if topic.name == name {
			return topic.text
		}
	}
	t.Fatalf("there is no topic %s", name)
	return ""
}

func readDoc(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// facts are what documents are held against.
type facts struct {
	flags   map[string]map[string]bool // by command and flag ("--depth", "-q"): does it take a value?
	targets map[string]bool            // of make
	sources string                     // all Go files
	codes   map[string]string          // exit codes by the names of their constants
}

// flagsOfOthers are flags that documents name alone and that are not ours.
var flagsOfOthers = map[string]string{
	"--csv": "fixtures/tablecat", "--md": "fixtures/tablecat", "--emoji": "fixtures/tablecat", "--version": "fixtures/tablecat",
	"--scope": "claude mcp add",
}

var gathered = sync.OnceValues(func() (*facts, error) {
	f := &facts{flags: map[string]map[string]bool{}, targets: map[string]bool{}}
	for _, c := range append(slices.Clone(commands), evalLocate) {
		var out, err bytes.Buffer
		if code := run(context.Background(), append(strings.Fields(c.name), "--help"), strings.NewReader(""), &out, &err); code != exitOK {
			return nil, fmt.Errorf("tracerag %s --help: exit code %d: %s", c.name, code, &err)
		}
		f.flags[c.name] = map[string]bool{"--help": false, "-h": false}
		for _, m := range helpFlag.FindAllStringSubmatch(out.String(), -1) {
			f.flags[c.name]["--"+m[2]] = m[3] != ""
			if m[1] != "" {
				f.flags[c.name]["-"+m[1]] = m[3] != ""
			}
		}
		if len(f.flags[c.name]) < 4 { // --dir and --quiet are everybody's
			return nil, fmt.Errorf("no flags are found in the help of %s", c.name)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	for _, m := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		f.targets[m[1]] = true
	}
	var all strings.Builder
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"):
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		}
		return nil
	})
	f.sources = all.String()
	return f, err
})

var (
	helpFlag   = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z][a-z-]*)(?: (\S+))?  +\S`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z0-9]*):`)
)

func gatherFacts(t *testing.T) *facts {
	t.Helper()
	f, err := gathered()
	if err != nil {
		t.Fatal(err)
	}
	f.codes = exitCodes(t)
	return f
}

// exitCodes reads codes.go: unused constants count, too.
func exitCodes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.INT {
				codes[v.Names[0].Name] = lit.Value
			}
		}
		return true
	})
	if len(codes) == 0 {
		t.Fatal("codes.go has no constants")
	}
	return codes
}

// check returns what is wrong with a document.
func (f *facts) check(path, text string) (faults []string) {
	name := filepath.Base(path)
	fault := func(format string, args ...any) {
		faults = append(faults, name+": "+fmt.Sprintf(format, args...))
	}
	code, prose := separate(text)
	for _, line := range code {
		f.checkCode(line, fault)
	}
	for _, m := range exitCode.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		// From 128 on it is a signal's, as in a shell.
		if !slices.Contains(slices.Collect(maps.Values(f.codes)), m[1]) && n < 128 {
			fault("codes.go has no exit code %s", m[1])
		}
	}
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		f.checkLink(path, text, m[1]+m[2], fault)
	}
	return faults
}

var (
	codeSpan = regexp.MustCompile("`+([^`]+)`+")
	exitCode = regexp.MustCompile(`[Ee]xit code (\d+)`)
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)|(?m:^\[[^\]]+\]: (\S+))`)
	listItem = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
)

// separate returns the code of a document, a line or an inline span each, and its
// prose without the code. Code blocks are fenced, or indented by four columns
// behind an empty line or another line of code.
func separate(text string) (code []string, prose string) {
	var rest strings.Builder
	fence, indented, empty := "", false, true
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			} else {
				code = append(code, trimmed)
			}
			continue
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
			continue
		case strings.HasPrefix(line, "    ") && (empty || indented) && !listItem.MatchString(line):
			indented = true
			code = append(code, trimmed)
			continue
		}
		indented, empty = indented && trimmed == "", trimmed == ""
		rest.WriteString(line + "\n")
	}
	prose = codeSpan.ReplaceAllStringFunc(rest.String(), func(span string) string {
		code = append(code, strings.Join(strings.Fields(strings.Trim(span, "`")), " "))
		return "x"
	})
	return code, prose
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	variable = regexp.MustCompile(`\bTRACERAG_[A-Z_]+`)
	testName = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w+$`)
)

// checkCode looks at a line of code for what is ours.
func (f *facts) checkCode(line string, fault func(string, ...any)) {
	for _, v := range variable.FindAllString(line, -1) {
		if !strings.Contains(f.sources, `"`+v+`"`) {
			fault("no Go file knows %s", v)
		}
	}
	if testName.MatchString(line) && !strings.Contains(f.sources, "\nfunc "+line+"(") {
		fault("there is no test %s", line)
	}
	words := strings.Fields(quoted.ReplaceAllString(line, "Q"))
	if i := slices.Index(words, "#"); i >= 0 {
		words = words[:i] // a shell's comment
	}
	if len(words) == 0 {
		return
	}
	switch first := words[0]; {
	case first == "make":
		if len(words) > 1 && !f.targets[words[1]] {
			fault("the Makefile has no target %s", words[1])
		}
	case strings.HasPrefix(first, "--") && first != "--":
		flag, _, _ := strings.Cut(first, "=")
		known := flagsOfOthers[flag] != ""
		for _, flags := range f.flags {
			_, ok := flags[flag]
			known = known || ok
		}
		if !known {
			fault("no command has a flag %s", flag)
		}
	case f.flags[first] != nil && len(words) > 1 && strings.HasPrefix(words[1], "-"):
		f.checkCommand(words, fault)
	}
	for i, w := range words {
		if (w == "tracerag" || w == "./tracerag") && i+1 < len(words) {
			f.checkCommand(words[i+1:], fault)
		}
	}
}

// checkCommand looks at the words behind "tracerag".
func (f *facts) checkCommand(words []string, fault func(string, ...any)) {
	name := strings.TrimRight(words[0], ",;:)")
	flags := f.flags[name]
	if len(words) > 1 && f.flags[name+" "+words[1]] != nil {
		name, words = name+" "+words[1], words[1:]
		flags = f.flags[name]
	}
	switch {
	case flags == nil && (name == "help" || name == "version" || name == strings.ToUpper(name) || strings.HasPrefix(name, "-")):
		return // COMMAND and ... mean any
	case flags == nil:
		fault("no command %s", name)
		return
	}
	words = words[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" || strings.ContainsAny(w[:1], "|<>&;#") {
			return // what follows is another program's
		}
		if !strings.HasPrefix(w, "-") || w == "-" {
			if name == "run" {
				return // the program, whose flags are its own
			}
			continue
		}
		flag, _, hasValue := strings.Cut(w, "=")
		flag = strings.TrimRight(flag, ",;:)")
		takes, ok := flags[flag]
		if !ok {
			fault("tracerag %s has no flag %s", name, flag)
		}
		if takes && !hasValue {
			i++
		}
	}
}

// checkLink follows a link to a file of ours, and to a heading in it.
func (f *facts) checkLink(from, text, to string, fault func(string, ...any)) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return
	}
	file, anchor, _ := strings.Cut(to, "#")
	path := from
	if file != "" {
		path = filepath.Join(filepath.Dir(from), filepath.FromSlash(file))
		data, err := os.ReadFile(path)
		if info, statErr := os.Stat(path); statErr != nil || err != nil && !info.IsDir() {
			fault("%s is not there", file)
			return
		}
		text = string(data)
	}
	if anchor == "" {
		return
	}
	if file == "" {
		file = filepath.Base(from)
	}
	if !slices.Contains(anchors(text), anchor) {
		fault("%s has no heading #%s", file, anchor)
	}
}

// anchors are what the headings of a document are called in links.
func anchors(text string) []string {
	var all []string
	seen := map[string]int{}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		if n := seen[id]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", id, n))
		} else {
			all = append(all, id)
		}
		seen[id]++
	}
	return all
}

// rows returns the cells of the tables under a heading.
func rows(text, heading string) [][]string {
	var all [][]string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			in = title == heading
		}
		if in && strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|--") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all = append(all, cells)
		}
	}
	return all
}
