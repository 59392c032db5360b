package gocmd

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A test program, which go test has built, runs all of its tests in one process. Run
// once for each, it shows which functions a test calls by itself. It lists its tests
// (-test.list) and runs the one that is named (-test.run '^TestX$'); which of the
// listed ones go test would have run is decided here, by the rules of package testing
// for -run, -skip and -bench.

// Test is a top-level test of a test program that is to be run alone: a test, an
// example, a fuzz target with its seeds, or a benchmark. The zero Test is none of
// them: with its arguments the program does only what it does for every test.
type Test struct {
	Name  string
	run   string // of -run
	bench string // of -bench, "" for what is no benchmark
}

// ListArgs returns the arguments with which a test program lists what it has, in
// place of args, those with which it would run it.
func ListArgs(args []string) []string {
	rest, _ := takeTestFlags(args, "run", "skip", "bench", "list")
	return append([]string{"-test.list=."}, rest...)
}

// Select returns the tests that a test program runs by args, and benchmarks if they
// ask for any, in the order of listing, what it wrote when it listed them.
func Select(args []string, listing []byte) ([]Test, error) {
	_, values := takeTestFlags(args, "run", "skip", "bench")
	var filters [3][][]*regexp.Regexp
	for i, flag := range []string{"run", "skip", "bench"} {
		for _, alternative := range alternatives(values[flag]) {
			var levels []*regexp.Regexp
			for _, level := range alternative {
				re, err := regexp.Compile(level)
				if err != nil {
					return nil, fmt.Errorf("go test -%s: %w", flag, err)
				}
				levels = append(levels, re)
			}
			filters[i] = append(filters[i], levels)
		}
	}
	run, skip, bench := filters[0], filters[1], filters[2]
	var out []Test
	for line := range bytes.Lines(listing) {
		name := strings.TrimRight(string(line), "\r\n")
		kind := testKind(name)
		// Of -skip only an alternative without a slash leaves out a whole test.
		skipped := values["skip"] != "" && slices.ContainsFunc(skip, func(levels []*regexp.Regexp) bool { return len(levels) == 1 && levels[0].MatchString(name) })
		switch {
		case kind == "" || skipped:
		case kind == "Benchmark":
			if values["bench"] == "" {
				continue
			}
			if p := only(name, bench); p != "" {
				out = append(out, Test{Name: name, run: "^$", bench: p})
			}
		default:
			if p := only(name, run); p != "" {
				out = append(out, Test{Name: name, run: p})
			}
		}
	}
	return out, nil
}

// Args returns the arguments with which a test program runs t alone, in place of
// args, those with which it would run all.
func (t Test) Args(args []string) []string {
	rest, _ := takeTestFlags(args, "run", "bench")
	return append(t.flags("-test."), rest...)
}

// WithTimeout returns the arguments of a test program with another limit of time.
func WithTimeout(args []string, limit time.Duration) []string {
	rest, _ := takeTestFlags(args, "timeout")
	return append([]string{"-test.timeout=" + limit.String()}, rest...)
}

func (t Test) flags(prefix string) []string {
	if t.run == "" {
		return []string{prefix + "run=^$"}
	}
	flags := []string{prefix + "run=" + t.run}
	if t.bench != "" {
		flags = append(flags, prefix+"bench="+t.bench)
	}
	return flags
}

// Only returns the go test command that runs t alone, of all packages that c names.
func (c *Command) Only(t Test) []string {
	out := append(slices.Clone(c.Args[:c.start]), t.flags("-")...)
	next := c.start
	for _, f := range c.flags {
		switch strings.TrimPrefix(f.name, "test.") {
		case "run", "bench":
			out = append(out, c.Args[next:f.at]...)
			next = f.at + f.words
		}
	}
	return append(out, c.Args[next:]...)
}

// Unlimited returns c without a limit of time of its own, and the limit that it has. The
// go command ends a test program a minute after its -timeout, and one run for each
// test may take longer than that: the limit is then to be that of each. GOFLAGS has
// the value goflags (see [Command.Goflags]); 0 is no limit.
func (c *Command) Unlimited(goflags string) (*Command, time.Duration, error) {
	text := "10m" // go help testflag
	words, _ := splitQuoted(goflags)
	for i := range words {
		if f, kind := parseFlag(words, i, testFlags); kind == known && f.name == "timeout" {
			text = f.value
		}
	}
	out := append(slices.Clone(c.Args[:c.start]), "-timeout=0")
	next := c.start
	for _, f := range c.flags {
		if strings.TrimPrefix(f.name, "test.") == "timeout" {
			text = f.value
			out = append(out, c.Args[next:f.at]...)
			next = f.at + f.words
		}
	}
	limit, err := time.ParseDuration(text)
	if err != nil {
		return nil, 0, fmt.Errorf("go test -timeout=%s: must be a time with a unit, such as 90s or 10m", text)
	}
	unlimited, err := Parse(append(out, c.Args[next:]...))
	return unlimited, limit, err
}

// NoTestsError says that a command runs no tests.
type NoTestsError struct{ Command string }

func (e *NoTestsError) Error() string { return e.Command + " has no tests" }

// Each reports why the tests of c cannot be run each by itself, if so.
func (c *Command) Each() error {
	if c.Verb != "test" {
		return &NoTestsError{"go " + c.Verb}
	}
	for _, f := range c.flags {
		name := strings.TrimPrefix(f.name, "test.")
		switch name {
		case "list":
			return fmt.Errorf("go test -list runs no test: leave -list out")
		case "cover", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace":
			if f.value != "false" {
				return fmt.Errorf("go test -%s writes one file for all tests, but each test has a run of its own: leave -%s out", name, name)
			}
		}
	}
	return nil
}

// takeTestFlags returns args without the flags -test.NAME of names, and the values
// that the last of each has.
func takeTestFlags(args []string, names ...string) (rest []string, values map[string]string) {
	values = map[string]string{}
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(rest, args[i:]...), values
		}
		text := strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-")
		name, value, hasValue := strings.Cut(text, "=")
		name, isTest := strings.CutPrefix(name, "test.")
		if !isTest || text == args[i] || !slices.Contains(names, name) {
			rest = append(rest, args[i])
			continue
		}
		if !hasValue && i+1 < len(args) {
			i++
			value = args[i]
		}
		values[name] = value
	}
	return rest, values
}

// testKind tells what the go command takes a name for, "" for no name of a test: what
// the program's initialisation or TestMain prints is in a listing, too.
func testKind(name string) string {
	for _, kind := range []string{"Test", "Example", "Fuzz", "Benchmark"} {
		rest, ok := strings.CutPrefix(name, kind)
		if !ok {
			continue
		}
		first, _ := utf8.DecodeRuneInString(rest)
		other := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
		if rest != "" && unicode.IsLower(first) || strings.ContainsFunc(rest, other) {
			return ""
		}
		return kind
	}
	return ""
}

// only returns the pattern that matches, of what filter matches, the test of that
// name alone and the subtests that filter asks for; "" when it does not match it.
func only(name string, filter [][]*regexp.Regexp) string {
	var out []string
	for _, levels := range filter {
		if !levels[0].MatchString(name) {
			continue
		}
		p := "^" + regexp.QuoteMeta(name) + "$"
		for _, level := range levels[1:] {
			p += "/" + level.String()
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, "|")
}

// alternatives takes a pattern of -run apart as package testing does: at each | into
// alternatives, and these at each / into the patterns of a test, its subtests, and so
// on. Within brackets and parentheses both are a regular expression's own.
func alternatives(pattern string) [][]string {
	out := [][]string{nil}
	brackets, parens, from := 0, 0, 0
	end := func(i int) {
		last := &out[len(out)-1]
		*last = append(*last, pattern[from:i])
		from = i + 1
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			brackets++
		case c == ']':
			brackets = max(0, brackets-1)
		case brackets > 0:
		case c == '(':
			parens++
		case c == ')':
			parens--
		case c == '/' && parens == 0:
			end(i)
		case c == '|' && parens == 0:
			end(i)
			out = append(out, nil)
		}
	}
	end(len(pattern))
	return out
}
