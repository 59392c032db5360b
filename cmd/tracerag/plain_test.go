package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// riddles are phrases that a reader has to decode, with what to write instead.
var riddles = []struct{ phrase, write string }{
	{`\bthere (is|are|was|were) (no|none|not)\b`, "not found, unknown, missing, or the subject with its verb"},
	{`\b(that|which) there (is|are)( not)?\b`, "unknown, or existing"},
	{`\bthere are %`, "must be one of %s"},
	{`\b(is|are|be|been|was|were|being) told\b`, "reported, or: says"},
	{`\bfor want of\b|\b(for|in) lack of room\b`, "because of, or: the memory was full"},
	{`\bstands?\b`, "is, or a verb that says what it does"},
	{`\bby some\b`, "by about"},
	{`\bas ever\b`, "as usual, as without tracerag"},
	{`\b(does|do) not take\b`, "can't handle, does not accept"},
	{`\ball the same\b`, "anyway"},
	{`\b(was|is|are|were) let go\b|\blets? it go\b`, "stopped counting; detached; ends the recording"},
	{`\bis none of\b`, "unknown: must be one of"},
	{`\bmore than nothing\b`, "positive"},
	{`\b(time was over|times are over)\b`, "the deadline expired"},
	{`\bwhat (it|one|that one) lacks\b|\bthat one lacks\b`, "its gaps"},
	{`\bspeaks? for (it|them)\b`, "reasons"},
	{`\bis not there\b`, "not found"},
	{`\bhas (a shell complete|many questions)\b`, "the subject with its verb"},
	{`\bchoose what of\b`, "start or stop"},
	{`\bis as it was\b`, "was not changed; is restored"},
	{`\bwhoever\b`, "the one who, or: anyone who"},
	{`\bit is not known\b`, "is unknown"},
	{`\bin the midst of\b`, "in, during"},
	{`\bin spite of\b`, "although"},
	{`\band which other\b|\bwhat\?`, "a missing argument"},
}

// spared are files whose texts are bound to stay: prompts are the same, byte for
// byte, from release to release, since answers are compared over them.
var spared = map[string]bool{
	"prompt/instructions.go": true,
	"prompt/template.go":     true,
	"eval/judge.go":          true,
}

// TestPlainWords: documents, help, messages and package comments are in plain English.
func TestPlainWords(t *testing.T) {
	var faults []string
	for _, path := range docs(t) {
		_, prose := separate(readDoc(t, path))
		for _, fault := range foundRiddles(prose) {
			faults = append(faults, filepath.Base(path)+": "+fault)
		}
	}
	files, sentences := 0, 0
	productFiles(t, func(name, path string) {
		if spared[name] {
			return
		}
		files++
		for _, fault := range foundRiddles(packageComment(t, path)) {
			faults = append(faults, name+": package comment: "+fault)
		}
		for _, text := range literals(t, path) {
			if !strings.Contains(text, " ") {
				continue
			}
			sentences++
			for _, fault := range foundRiddles(text) {
				faults = append(faults, name+": "+fault)
			}
		}
	})
	if files < 100 || sentences < 1000 {
		t.Errorf("only %d strings of %d files were read", sentences, files)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// productFiles calls visit with each Go file that is no test's, by its name from the root.
func productFiles(t *testing.T, visit func(name, path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "fixtures" || name == "bench"):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			visit(name, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLibrariesNameNoFlags: what the texts of libraries advise is no flag of ours and no
// variable that only the command line reads. wayout.go names these.
func TestLibrariesNameNoFlags(t *testing.T) {
	ours := map[string]bool{}
	a, err := newApp(strings.NewReader(""), io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range a.completions(t.Context()).Commands {
		if flags := command.Flags(); flags != nil {
			flags.VisitAll(func(f *pflag.Flag) { ours["--"+f.Name] = true })
		}
	}
	if len(ours) < 50 {
		t.Fatalf("only %d flags are known", len(ours))
	}
	named := regexp.MustCompile(`--[a-z][a-z-]+|TRACERAG_(READ_MEMORY|DIR)`)
	// An example of a program's own arguments; what is typed to be completed.
	spared := map[string]bool{"mcp/record.go --version": true, "completion/completion.go --help": true, "completion/completion.go --dir": true,
		"calltree/view.go --focus": true} // a part of the command line that its caller gives
	productFiles(t, func(name, path string) {
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "redact/") || strings.HasSuffix(filepath.Dir(name), "test") {
			return // redact knows flags of other programs, whose values may be secret
		}
		for _, text := range literals(t, path) {
			for _, flag := range named.FindAllString(text, -1) {
				if (ours[flag] || strings.HasPrefix(flag, "TRACERAG_")) && !spared[name+" "+flag] {
					t.Errorf("%s: %q names %s", name, text, flag)
				}
			}
		}
	})
}

// TestRiddlesAreFound has a sentence for each phrase.
func TestRiddlesAreFound(t *testing.T) {
	for _, text := range []string{
		"There is no trace that fits.", "a command that there is not", "what is left out is told", "left out for want of room",
		"--model=m stands there twice", "counts differ by some per cent", "the go command builds it as ever", "what the probe does not take",
		"it may have been called all the same", "f was let go after 200 calls", "it has to be more than nothing", "what a trace is, and what it lacks",
		"the process is as it was", "print what has a shell complete command lines", "eval what?", "its time was over before",
	} {
		if len(foundRiddles(text)) == 0 {
			t.Errorf("nothing is found in %q", text)
		}
	}
	for _, text := range []string{"trace ab12 not found", "understand, standard, outstanding", "told apart"} {
		if found := foundRiddles(text); len(found) > 0 {
			t.Errorf("in %q is found %q", text, found)
		}
	}
}

var riddlePatterns = func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, r := range riddles {
		all = append(all, regexp.MustCompile(`(?i)`+r.phrase))
	}
	return all
}()

// foundRiddles returns each riddle of a text with the words around it.
func foundRiddles(text string) (faults []string) {
	text = strings.Join(strings.Fields(text), " ")
	for i, re := range riddlePatterns {
		for _, at := range re.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
			faults = append(faults, fmt.Sprintf("%q in %q: write %s", text[at[0]:at[1]], around, riddles[i].write))
		}
	}
	return faults
}

// packageComment is what go doc prints of a package, if the file has it.
func packageComment(t *testing.T, path string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}

// literals are the strings of a Go file.
func literals(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}
