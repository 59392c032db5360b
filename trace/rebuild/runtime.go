package rebuild

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed recorder.go.txt
var recorderSource string

// What is looked for in the runtime. A g gets a word for its state, each go statement is
// counted, and the memory is mapped as soon as the environment is known.
var (
	racectx = regexp.MustCompile(`(?m)^\tracectx\s+uintptr$`)
	goenvs  = regexp.MustCompile(`(?m)^\tgoenvs\(\)$`)
	newproc = regexp.MustCompile(`(?m)^func newproc\(fn \*funcval\) \{\n\tgp := getg\(\)\n\tpc := (sys\.GetCallerPC|getcallerpc)\(\)$`)
	atomics = regexp.MustCompile(`"([a-z/]*runtime/[a-z/]*atomic)"`)
	sysPath = regexp.MustCompile(`"([a-z/]*runtime/[a-z/]*sys)"`)
)

// RuntimeError says that a Go runtime is not one that can be changed.
type RuntimeError struct{ What string }

func (e *RuntimeError) Error() string { return "the runtime of this Go is not as expected: " + e.What }

// Check reports whether the runtime of an installation of Go can be changed.
func Check(root string) error {
	dir := filepath.Join(root, "src", "runtime")
	_, err := patchRuntime([]string{filepath.Join(dir, "runtime2.go"), filepath.Join(dir, "proc.go")})
	return err
}

// patchRuntime returns those of the runtime's files that change, and a new one.
func patchRuntime(files []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	var name string // of the file that was changed last
	once := func(file string, match *regexp.Regexp, add func([]string) string) error {
		at := slices.IndexFunc(files, func(name string) bool { return filepath.Base(name) == file })
		if at < 0 {
			return &RuntimeError{"it has no file " + file}
		}
		name = files[at]
		text, ok := out[name]
		if !ok {
			var err error
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		found := match.FindAllSubmatchIndex(text, -1)
		if len(found) != 1 {
			return &RuntimeError{fmt.Sprintf("%s has %d places like %s", file, len(found), match)}
		}
		out[name] = slices.Insert(slices.Clone(text), found[0][1], []byte(add(match.FindStringSubmatch(string(text))))...)
		return nil
	}
	sp := ""
	err := once("runtime2.go", racectx, func([]string) string { return "; tracerag uintptr" })
	if err == nil {
		err = once("proc.go", goenvs, func([]string) string { return "; tracerag_init()" })
	}
	if err == nil {
		err = once("proc.go", newproc, func(m []string) string {
			sp = strings.NewReplacer("PC", "SP", "pc", "sp").Replace(m[1])
			return "; tracerag_go(pc, " + sp + "())"
		})
	}
	if err != nil {
		return nil, err
	}
	proc := out[name]
	atomic, system := atomics.FindSubmatch(proc), sysPath.FindSubmatch(proc)
	if atomic == nil || system == nil {
		return nil, &RuntimeError{"proc.go does not import atomic and sys"}
	}
	source := strings.Replace(recorderSource, "internal/runtime/atomic", string(atomic[1]), 1)
	if strings.HasPrefix(sp, "sys.") {
		source = strings.Replace(source, "internal/runtime/sys", string(system[1]), 1)
	} else {
		source = strings.Replace(source, "\t\"internal/runtime/sys\"\n", "", 1)
		source = strings.NewReplacer("sys.GetCallerSP()", "getcallersp()", "sys.GetCallerPC()", "getcallerpc()").Replace(source)
	}
	out[filepath.Join(filepath.Dir(name), "zz_tracerag.go")] = []byte(source)
	return out, nil
}
