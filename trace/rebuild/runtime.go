package rebuild

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// What package runtime gets: the recorder of calls, and that of values.
var (
	//go:embed recorder.go.txt
	recorderSource string
	//go:embed values.go.txt
	valuesSource string
)

// How the memory is mapped.
var (
	//go:embed map_unix.go.txt
	mapUnix string
	//go:embed map_windows.go.txt
	mapWindows string
)

//go:embed lines.go.txt
var linesSource string

// What is looked for in the runtime. A g gets a word for its state, each go statement is
// counted, and the memory is mapped as soon as the environment is known. Runtime errors are seen where they panic.
var (
	racectx = regexp.MustCompile(`(?m)^\tracectx\s+uintptr$`)
	goenvs  = regexp.MustCompile(`(?m)^\tgoenvs\(\)$`)
	newproc = regexp.MustCompile(`(?m)^func newproc\(fn \*funcval\) \{\n\tgp := getg\(\)\n\tpc := (sys\.GetCallerPC|getcallerpc)\(\)$`)
	stdcall = regexp.MustCompile(`(?m)^func stdcall\(fn stdFunction, args \.\.\.uintptr\)`)
	counted = regexp.MustCompile(`\bstdcall[0-9]\(`)
	gopanic = regexp.MustCompile(`(?m)^func gopanic\(e (any|interface\{\})\) \{$`)
	atomics = regexp.MustCompile(`"([a-z/]*runtime/[a-z/]*atomic)"`)
	sysPath = regexp.MustCompile(`"([a-z/]*runtime/[a-z/]*sys)"`)
)

// RuntimeError says that a Go runtime is not one that can be changed.
type RuntimeError struct{ What string }

func (e *RuntimeError) Error() string { return "the runtime of this Go is not as expected: " + e.What }

// Check reports whether the runtime of an installation of Go can be changed.
func Check(root string) error {
	dir := filepath.Join(root, "src", "runtime")
	_, err := patchRuntime([]string{filepath.Join(dir, "runtime2.go"), filepath.Join(dir, "proc.go"), filepath.Join(dir, "panic.go"), filepath.Join(dir, "os_"+runtime.GOOS+".go")})
	return err
}

// mapping returns the source that maps the memory on the system that a runtime's files are for.
func mapping(files []string) (string, error) {
	for _, name := range files {
		switch filepath.Base(name) {
		case "os_linux.go", "os_darwin.go":
			return mapUnix, nil
		case "os_windows.go":
			text, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			if stdcall.Match(text) { // until Go 1.25 it has a function for each number of arguments
				return counted.ReplaceAllString(mapWindows, "stdcall("), nil
			}
			return mapWindows, nil
		}
	}
	return "", &RuntimeError{"it is for another system than Linux, macOS and Windows"}
}

// patchRuntime returns those of the runtime's files that change, and new ones.
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
	err := once("panic.go", gopanic, func([]string) string { return " tracerag_fault(e);" })
	if err == nil {
		err = once("runtime2.go", racectx, func([]string) string { return "; tracerag uintptr" })
	}
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
	imports := strings.NewReplacer(`"internal/runtime/atomic"`, `"`+string(atomic[1])+`"`, `"internal/runtime/sys"`, `"`+string(system[1])+`"`)
	if !strings.HasPrefix(sp, "sys.") { // before Go 1.24
		imports = strings.NewReplacer(`"internal/runtime/atomic"`, `"`+string(atomic[1])+`"`, "\t\"internal/runtime/sys\"\n", "", "sys.GetCallerSP()", "getcallersp()", "sys.GetCallerPC()", "getcallerpc()")
	}
	for i, source := range []string{recorderSource, linesSource, valuesSource} {
		out[filepath.Join(filepath.Dir(name), fmt.Sprintf("zz_tracerag%d.go", i))] = []byte(imports.Replace(source))
	}
	source, err := mapping(files)
	if err != nil {
		return nil, err
	}
	out[filepath.Join(filepath.Dir(name), "zz_tracerag_map.go")] = []byte(source)
	return out, nil
}
