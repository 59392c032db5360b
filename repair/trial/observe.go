package trial

import (
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What a test program prints is no proof: a test may print what `go test -json` would, or
// end the process before it ran. So the programs are built with a package testing that
// writes down, as each test begins and ends, what became of it. Each line carries a sum
// over the line before it and a key that is drawn anew for each trial and known only to
// this process and to that package: who has not read the key out of the program's
// machine code can neither write a line nor take one away. Go's overlay puts the package
// in place; nothing of the tree or of the Go installation changes.

//go:embed hook.go.txt
var hookSource string

// reportVariable names the file that a test program reports to.
const reportVariable = "TRACERAG_TRIAL_REPORT"

// observer reads what its package testing wrote.
type observer struct {
	key     [32]byte
	overlay string // the file that is given to go's flag -overlay
}

// UnknownTesting is the error of a Go installation whose package testing is unlike those
// that are known.
type UnknownTesting struct{ Root, What string }

func (e *UnknownTesting) Error() string {
	return fmt.Sprintf("trial: the package testing of %s has no %s: this version of Go isn't supported", e.Root, e.What)
}

// hooks are the functions of package testing at whose beginning there is a call.
var hooks = []struct{ file, receiver, function, call string }{
	{"testing.go", "", "MainStart", `traceragNAMEStart(deps.ImportPath())`},
	{"testing.go", "M", "Run", `defer func() { traceragNAMEDone(code) }()`},
	{"testing.go", "", "tRunner", `traceragNAMEBegin(t.name)`},
	{"testing.go", "T", "report", `traceragNAMEEnd(t.name, t.Failed(), t.Skipped())`},
	{"fuzz.go", "", "fRunner", `traceragNAMEBegin(f.name)`},
	{"fuzz.go", "F", "report", `traceragNAMEEnd(f.name, f.Failed(), f.Skipped())`},
	{"run_example.go", "", "runExample", `traceragNAMEBegin(eg.Name)`},
	{"example.go", "InternalExample", "processRunResult", `defer func() { traceragNAMEEnd(eg.Name, !passed || !finished || recovered != nil, false) }()`},
}

// observe writes the package testing of a Go installation with its hooks below dir.
func observe(goroot, dir string) (*observer, error) {
	o := &observer{overlay: filepath.Join(dir, "overlay.json")}
	var name [8]byte
	rand.Read(o.key[:])
	rand.Read(name[:])
	fill := func(text string) string {
		text = strings.ReplaceAll(text, "NAME", hex.EncodeToString(name[:]))
		return strings.ReplaceAll(text, "VARIABLE", reportVariable)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, full(err, dir)
	}
	replace := map[string]string{}
	write := func(file, text string) error {
		to := filepath.Join(dir, file+".txt")
		replace[filepath.Join(goroot, "src", "testing", file)] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return full(err, dir)
		}
		return nil
	}
	texts := map[string]string{}
	for _, h := range hooks {
		text, ok := texts[h.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(goroot, "src", "testing", h.file))
			if err != nil {
				return nil, fmt.Errorf("trial: %w", err)
			}
			text = string(data)
		}
		at, err := bodyOf(text, h.receiver, h.function)
		if err != nil {
			return nil, &UnknownTesting{goroot, cmpName(h.receiver, h.function)}
		}
		// on the same line, so that positions stay
		texts[h.file] = text[:at] + " " + fill(h.call) + ";" + text[at:]
	}
	for _, file := range sortedKeys(texts) {
		if err := write(file, texts[file]); err != nil {
			return nil, err
		}
	}
	var key strings.Builder
	for i, b := range o.key {
		if i > 0 {
			key.WriteString(", ")
		}
		fmt.Fprint(&key, b)
	}
	hook := strings.ReplaceAll(fill(hookSource), "KEY", key.String())
	if err := write("tracerag"+hex.EncodeToString(name[:])+".go", hook); err != nil {
		return nil, err
	}
	data, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(o.overlay, data, 0o600); err != nil {
		return nil, full(err, dir)
	}
	return o, nil
}

// without returns an overlay in which files of a copy are missing, too.
func (o *observer) without(s *slot, files []string) (string, error) {
	if len(files) == 0 {
		return o.overlay, nil
	}
	data, err := os.ReadFile(o.overlay)
	if err != nil {
		return "", fmt.Errorf("trial: %w", err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(data, &overlay); err != nil {
		return "", fmt.Errorf("trial: %s: %w", o.overlay, err)
	}
	for _, f := range files {
		overlay.Replace[filepath.Join(s.root, filepath.FromSlash(f))] = ""
	}
	if data, err = json.Marshal(overlay); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.out, 0o700); err != nil {
		return "", full(err, s.trial.options.Scratch)
	}
	name := filepath.Join(s.out, "without.json")
	return name, full(os.WriteFile(name, data, 0o600), s.trial.options.Scratch)
}

func cmpName(receiver, function string) string {
	if receiver == "" {
		return function
	}
	return receiver + "." + function
}

// bodyOf is where the body of a function begins.
func bodyOf(text, receiver, function string) (int, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != function || fn.Body == nil {
			continue
		}
		of := ""
		if fn.Recv != nil {
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				of = star.X.(*ast.Ident).Name
			}
		}
		if of == receiver {
			return fset.Position(fn.Body.Lbrace).Offset + 1, nil
		}
	}
	return 0, fmt.Errorf("no %s", function)
}

// Outcome is what became of a test.
type Outcome string

const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	Crashed Outcome = "crashed" // the program ended while it ran
	Absent  Outcome = "absent"
)

// maxReport bounds a report; what is beyond it is as if it had not been written.
const maxReport = 256 << 20

// observed is what a test program reported.
type observed struct {
	began    bool // the program came to a test
	done     bool // and through them
	code     int
	outcomes map[string]Outcome
	running  []string // began and did not end
}

// read reads a report up to the first line that the package testing did not write.
func (o *observer) read(file string) (observed, error) {
	r := observed{outcomes: map[string]Outcome{}}
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReport))
	if err != nil {
		return r, err
	}
	sum := sha256.Sum256(append(slices.Clone(o.key[:]), filepath.Base(file)...))
	running := map[string]int{}
	for line := range strings.Lines(string(data)) {
		got, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		sum = sha256.Sum256(append(append(slices.Clone(o.key[:]), sum[:]...), text...))
		if !ok || got != hex.EncodeToString(sum[:]) {
			// The rest is a forgery, or was cut off.
			r.done = false
			break
		}
		what, quoted, _ := strings.Cut(text, " ")
		name, err := strconv.Unquote(quoted)
		if err != nil {
			break
		}
		switch what {
		case "begin":
			r.began = true
			running[name]++
			r.done = false
		case "pass", "fail", "skip":
			running[name]--
			is := map[string]Outcome{"pass": Passed, "fail": Failed, "skip": Skipped}[what]
			r.outcomes[name] = worse(r.outcomes[name], is)
		case "done":
			r.done = true
			r.code, _ = strconv.Atoi(name)
		}
	}
	for _, name := range sortedKeys(running) {
		if running[name] > 0 {
			r.running = append(r.running, name)
		}
	}
	return r, nil
}

// worse is what counts of two outcomes of one test.
func worse(a, b Outcome) Outcome {
	order := []Outcome{"", Passed, Skipped, Failed, Crashed}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}
