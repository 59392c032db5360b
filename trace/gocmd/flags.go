package gocmd

import (
	"maps"
	"strings"
)

// arity says whether a flag of the go command takes a value.
type arity bool

const (
	boolean arity = false // -race, -race=true; the next word is never its value
	valued  arity = true  // -tags x, -tags=x
)

// buildFlags are those of "go help build" that go run and go test both take. A test
// compares this table and the next with what the go command's help says.
var buildFlags = map[string]arity{
	"C": valued, "a": boolean, "n": boolean, "p": valued, "v": boolean, "work": boolean, "x": boolean,
	"race": boolean, "msan": boolean, "asan": boolean,
	"cover": boolean, "covermode": valued, "coverpkg": valued,
	"asmflags": valued, "gccgoflags": valued, "gcflags": valued, "ldflags": valued,
	"buildmode": valued, "buildvcs": boolean, "compiler": valued, "installsuffix": valued,
	"json": boolean, "linkshared": boolean, "mod": valued, "modcacherw": boolean, "modfile": valued,
	"overlay": valued, "pgo": valued, "pkgdir": valued, "tags": valued, "toolexec": valued, "trimpath": boolean,

	// Not in the help: of go run's and go test's own text, and for debugging the
	// go command.
	"exec":              valued,
	"debug-actiongraph": valued, "debug-runtime-trace": valued, "debug-trace": valued,
}

// forwardedFlags are those of "go help testflag" that the go command hands on to
// the test program, and also knows as -test.NAME.
var forwardedFlags = map[string]arity{
	"artifacts": boolean, "bench": valued, "benchmem": boolean, "benchtime": valued,
	"blockprofile": valued, "blockprofilerate": valued, "count": valued, "coverprofile": valued, "cpu": valued,
	"cpuprofile": valued, "failfast": boolean, "fullpath": boolean, "fuzz": valued, "fuzzminimizetime": valued,
	"fuzztime": valued, "list": valued, "memprofile": valued, "memprofilerate": valued, "mutexprofile": valued,
	"mutexprofilefraction": valued, "outputdir": valued, "parallel": valued, "run": valued, "short": boolean,
	"shuffle": valued, "skip": valued, "timeout": valued, "trace": valued, "v": boolean,
}

// ownTestFlags are the go command's own in go test.
var ownTestFlags = map[string]arity{"c": boolean, "o": valued, "vet": valued}

var (
	runFlags  = buildFlags
	testFlags = func() map[string]arity {
		m := maps.Clone(buildFlags)
		maps.Copy(m, ownTestFlags)
		for name, a := range forwardedFlags {
			m[name], m["test."+name] = a, a
		}
		return m
	}()
)

// kind is what a word of a command line is.
type kind int

const (
	known      kind = iota // a flag of the table
	unknown                // a flag that is not in it
	word                   // no flag
	terminator             // "--"
)

// parseFlag reads the word at i, and the next if that is its value.
func parseFlag(args []string, i int, table map[string]arity) (flag, kind) {
	arg := args[i]
	if arg == "--" {
		return flag{}, terminator
	}
	text := strings.TrimPrefix(arg, "-")
	if text == arg || text == "" || text == "-" {
		return flag{}, word
	}
	text = strings.TrimPrefix(text, "-")
	if text[0] == '-' || text[0] == '=' {
		return flag{}, word
	}
	f := flag{at: i, words: 1}
	var hasValue bool
	f.name, f.value, hasValue = strings.Cut(text, "=")
	a, ok := table[f.name]
	if !ok {
		return f, unknown
	}
	if a == valued && !hasValue && i+1 < len(args) {
		f.words, f.value = 2, args[i+1]
	}
	return f, known
}
