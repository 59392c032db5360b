package rebuild

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tool runs a tool of the go command in its place, which starts it so by -toolexec: args are the tool with its arguments. The
// compiler gets other sources than the user's; all else is as it would be. It returns the exit code.
func Tool(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "this step of tracerag is not for the command line")
		return 2
	}
	tool := args[0]
	if base := filepath.Base(tool); strings.TrimSuffix(base, ".exe") != "compile" {
		return start(tool, args[1:])
	}
	if slices.Equal(args[1:], []string{"-V=full"}) {
		return toolVersion(tool)
	}
	words, err := expand(args[1:])
	words, add := marked(words)
	plain := words
	// Beside what is compiled: the go command removes that, after an interruption, too.
	dir := filepath.Join(filepath.Dir(value(words, "-o")), "tracerag")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		words, err = sources(words, add, dir)
	}
	if err == nil {
		words, err = shorten(words, dir)
	}
	if err != nil {
		return failed(err)
	}
	return compile(tool, words, plain)
}

// compile starts the compiler with other sources. If it refuses them, it is to say so of the user's own ones: its messages about the
// others may have our names in them.
func compile(tool string, words, plain []string) int {
	var said bytes.Buffer
	cmd := exec.Command(tool, words...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, &said, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		if code := start(tool, plain); code != 0 {
			return code
		}
	} else if err != nil {
		fmt.Fprintf(&said, "%s: %v\n", tool, err)
	}
	os.Stderr.Write(said.Bytes())
	if err != nil {
		return 1
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "tracerag, rewriting sources:", err)
	return 1
}

func start(tool string, args []string) int {
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return cmp.Or(exit.ExitCode(), 1)
	}
	if err != nil { // ended by a signal too: the go command names us as the tool, and not how this one ended
		fmt.Fprintf(os.Stderr, "%s: %v\n", tool, err)
		return 1
	}
	return 0
}

// toolVersion prints the compiler's version with ours: by it the go command tells what it has built with and
// without the recorder, and with another version of that.
func toolVersion(tool string) int {
	out, err := exec.Command(tool, "-V=full").Output()
	if err != nil {
		return failed(fmt.Errorf("%s -V=full: %w", tool, err))
	}
	fields := strings.Fields(string(out))
	at := len(fields)
	if at > 0 && strings.HasPrefix(fields[at-1], "buildID=") {
		at-- // of a development version this has to be the last
	}
	fmt.Println(strings.Join(slices.Insert(fields, at, "tracerag="+identity()), " "))
	return 0
}

// Mark begins the argument by which package gocmd has a package compiled with more than calls of the recorder, a list of what
// follows, as -tracerag=lines. The compiler does not get it. It is in the flags that the go command keeps a package by.
const (
	Mark       = "-tracerag="
	MarkLines  = "lines"  // which lines ran
	MarkValues = "values" // arguments and results
)

// Marked is the argument for these; "" for none.
func Marked(lines, values bool) string {
	var list []string
	if lines {
		list = append(list, MarkLines)
	}
	if values {
		list = append(list, MarkValues)
	}
	if list == nil {
		return ""
	}
	return Mark + strings.Join(list, ",")
}

// marked takes the mark out of a compiler's arguments.
func marked(args []string) (rest []string, add map[string]bool) {
	add = map[string]bool{}
	for _, a := range args {
		list, ok := strings.CutPrefix(a, Mark)
		if !ok {
			rest = append(rest, a)
			continue
		}
		clear(add) // the last one counts, as with other flags
		for word := range strings.SplitSeq(list, ",") {
			add[word] = true
		}
	}
	return rest, add
}

// detects reports whether a compiler's arguments ask for code that watches all memory.
func detects(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-race" || a == "-msan" || a == "-asan" })
}

//go:embed rewrite*.go runtime.go tool.go
var own embed.FS

// Release names an installation of Go together with this recorder: the first build with both compiles the standard library again.
func Release(root string) (goVersion, id string) {
	text, _ := os.ReadFile(filepath.Join(root, "VERSION"))
	goVersion, _, _ = strings.Cut(string(text), "\n")
	sum := sha256.Sum256([]byte(identity() + "\n" + root + "\n" + goVersion))
	return goVersion, fmt.Sprintf("%x", sum[:12])
}

// identity is known by all that decides about rewritten sources.
func identity() string {
	h := sha256.New()
	h.Write([]byte(recorderSource + linesSource + valuesSource + mapUnix + mapWindows))
	files, err := own.ReadDir(".")
	for _, f := range files {
		var text []byte
		if strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		if text, err = own.ReadFile(f.Name()); err != nil {
			break
		}
		h.Write(text)
	}
	if err != nil {
		panic(err) // they are embedded
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// expand replaces arguments that name a file with arguments, one a line.
func expand(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		name, ok := strings.CutPrefix(a, "@")
		if !ok {
			out = append(out, a)
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			out = append(out, unescape.Replace(strings.TrimSuffix(line, "\n")))
		}
	}
	return out, nil
}

var (
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n")
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// shorten is the inverse of expand, for command lines that are longer than systems take.
func shorten(args []string, dir string) ([]string, error) {
	size := 0
	for _, a := range args {
		size += len(a) + 1
	}
	if size < 30<<10 {
		return args, nil
	}
	var b bytes.Buffer
	for _, a := range args {
		fmt.Fprintf(&b, "%s\n", escape.Replace(a))
	}
	name := filepath.Join(dir, "args")
	return []string{"@" + name}, os.WriteFile(name, b.Bytes(), 0o600)
}

// sources replaces the Go files in a compiler's arguments: behind the flags.
func sources(args []string, add map[string]bool, dir string) ([]string, error) {
	first := len(args)
	for first > 0 && strings.HasSuffix(args[first-1], ".go") && !strings.HasPrefix(args[first-1], "-") {
		first--
	}
	files := args[first:]
	var changed map[string][]byte
	var err error
	switch path := value(args[:first], "-p"); {
	case path == "runtime":
		changed, err = patchRuntime(files)
	case slices.Contains(args[:first], "-std"), len(files) == 0:
		return args, nil
	default:
		changed, err = rewriteAll(files, path, add, detects(args[:first]))
	}
	if err != nil {
		return nil, err
	}
	out := slices.Clone(args[:first])
	for i, name := range files {
		text, ok := changed[name]
		delete(changed, name)
		if !ok {
			out = append(out, name)
			continue
		}
		if name, err = put(dir, i, name, text); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	for i, name := range slices.Sorted(maps.Keys(changed)) { // new ones
		if name, err = put(dir, len(files)+i, name, changed[name]); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// put writes a file that says of itself that it is another one.
func put(dir string, i int, name string, text []byte) (string, error) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, fmt.Sprintf("%d.go", i))
	return file, os.WriteFile(file, fmt.Appendf(nil, "//line %s:1:1\n%s", whole, text), 0o600)
}

// value is that of the last flag of a name.
func value(args []string, name string) (v string) {
	for i, a := range args {
		if a == name && i+1 < len(args) {
			v = args[i+1]
		} else if w, ok := strings.CutPrefix(a, name+"="); ok {
			v = w
		}
	}
	return v
}

// rewriteAll returns a package's files as they are to be compiled. What does not parse stays as it is: the compiler says
// why. So does what cgo generates.
func rewriteAll(files []string, path string, add map[string]bool, detected bool) (map[string][]byte, error) {
	var names []string
	var texts [][]byte
	for _, name := range files {
		if filepath.Base(name) == "_cgo_gotypes.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark is allowed on the first line only, which put writes
		names, texts = append(names, name), append(texts, text)
	}
	var err error
	call, values := namesFor(texts), add[MarkValues]
	var lines *liner
	if add[MarkLines] {
		lines = newLiner(path, call, detected)
	}
	for i, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, texts[i], parser.SkipObjectResolution)
		if err != nil {
			return nil, nil
		}
		call.bare = call.bare || redeclares(file)
		if lines != nil {
			lines.know(file)
		}
	}
	if call.bare { // calls need no types
		values, lines = false, nil
	}
	out := map[string][]byte{}
	for i, name := range slices.Backward(names) {
		if out[name], err = rewrite(name, texts[i], call, values, lines, i == 0); err != nil {
			return nil, nil
		}
	}
	return out, nil
}
