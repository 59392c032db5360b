// Package gocmd understands the two go commands that run what they build, go run
// and go test, and rewrites one into the same command for a recorder: built
// without inlining, and with the built program handed to the recorder instead of
// being started.
//
// # How
//
// The go command is not imitated. It builds, caches, vets, chooses working
// directories and environment, turns -run into -test.run, prints ok and FAIL, and
// exits as it does alone; only two flags are put in front of the user's own:
//
//   - -gcflags, so that the compiler does not inline. An inlined call has no
//     entry of its own to be counted, so without inlining every call in the source
//     is one in the program.
//   - -exec, which makes the go command start another program, the recorder, with
//     the built program and its arguments as the last of its own.
//
// With -exec the go command does not answer from its cache of test results, so
// tests are always run. What it builds for go run and go test it links without
// symbols and DWARF; -ldflags='-s=false -w=false', which Command.Debug adds to those of
// the user, keeps them.
//
// What this package must know of the go command is therefore little: which words of
// a command line are its own flags and which belong to packages or the program,
// since a -gcflags of the user's is merged and an -exec of the user's refused.
//
// # Which packages are built without inlining
//
// All but the standard library (-gcflags=all=-l -gcflags=std=): a function is
// inlined when its caller is compiled, so a recorded package's calls would be lost
// in every package that may call it, recorded or not. The standard library calls
// nothing outside but by function values and interfaces, which are not inlined,
// and so stays as it is, in the build cache. When it is itself recorded, the
// packages of it that the patterns name are compiled without inlining, too.
//
// The user's own -gcflags, and those of GOFLAGS, keep their effect: the go command
// takes the last that matches a package, ours come first, and each of the user's
// gets what switches inlining off added to it.
package gocmd

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is a go run or go test command line.
type Command struct {
	Args []string // as it is started: args[0] is the go command
	Verb string   // "run" or "test"

	// Package says that not a go command was given but the package that is to be
	// run; Args is the go run of it.
	Package bool

	// Debug has Rewrite keep the symbols and DWARF, for anyone who reads arguments.
	Debug bool

	// Tool has Rewrite start the go command's tools by this program and its first arguments; none: by none.
	Tool []string

	// Mark is an argument that Rewrite gives the compiler of each package outside the standard library, for Tool, which takes
	// it out; "": none. So the go command keeps what was built with each mark apart, and has one standard library for all.
	Mark string

	verb   int    // index of the verb
	start  int    // of the first word that flags may be put before
	flags  []flag // the go command's own flags at and after start
	target int    // of go run: index of the package or first file
	rest   int    // of go run: index of the program's first argument
}

// flag is a flag of the go command as it is in a command line.
type flag struct {
	at, words int // Args[at:at+words]
	name      string
	value     string
}

// goName is what the go command may be called: go, go1.26, go1.27rc1, gotip.
var goName = regexp.MustCompile(`^go(tip|[0-9]+(\.[0-9]+)*((rc|beta)[0-9]+)?)?(\.exe)?$`)

// Parse returns the go run or go test command that args are, or nil when they are
// anything else. An error says that the command cannot be recorded as it is.
func Parse(args []string) (*Command, error) {
	if len(args) == 0 || !goName.MatchString(filepath.Base(args[0])) {
		return nil, nil
	}
	c := &Command{Args: args}
	c.verb = skipChdir(args, 1)
	if c.verb >= len(args) {
		return nil, nil
	}
	switch c.Verb = args[c.verb]; c.Verb {
	case "run":
		c.start = skipChdir(args, c.verb+1)
		c.parseRun()
	case "test":
		c.start = skipChdir(args, c.verb+1)
		c.parseTest()
	default:
		return nil, nil
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, nil // let it be reported as any program that is missing
	}
	return c, c.check()
}

// skipChdir returns the index after a -C dir at i, where the go command wants it to
// are: before or right after the verb.
func skipChdir(args []string, i int) int {
	if i >= len(args) {
		return i
	}
	switch name, _, hasValue := strings.Cut(args[i], "="); {
	case name != "-C" && name != "--C":
		return i
	case hasValue:
		return i + 1
	default:
		return min(i+2, len(args))
	}
}

// parseRun finds the flags of go run: all up to the first word that is none.
func (c *Command) parseRun() {
	i := c.start
	for i < len(c.Args) {
		f, kind := parseFlag(c.Args, i, runFlags)
		if kind == terminator {
			i++
		}
		if kind != known {
			break // an unknown flag, too: go run stops there with an error
		}
		c.flags = append(c.flags, f)
		i += f.words
	}
	c.target = i
	for i < len(c.Args) && strings.HasSuffix(c.Args[i], ".go") {
		i++
	}
	if i == c.target && i < len(c.Args) {
		i++
	}
	c.rest = i
}

// parseTest finds the flags of go test. They are before and after the packages,
// among flags of the test program that the go command does not know. A word that
// is no flag ends the go command's part of the line, unless it is in the one
// list of packages or may be the value of an unknown flag (go.dev/issue/40763).
func (c *Command) parseTest() {
	inList, listed, mayBeValue := false, false, false
	for i := c.start; i < len(c.Args); {
		f, kind := parseFlag(c.Args, i, testFlags)
		wasMayBeValue := mayBeValue
		mayBeValue = false
		switch kind {
		case terminator:
			return
		case word:
			switch {
			case !listed || inList:
				listed, inList = true, true
			case !wasMayBeValue:
				return
			}
			i++
			continue
		case unknown:
			if c.Args[i] == "-args" || c.Args[i] == "--args" {
				return
			}
			listed = true // what follows may be a value, and is no package
			mayBeValue = !strings.Contains(c.Args[i], "=")
			i++
		case known:
			c.flags = append(c.flags, f)
			i += f.words
		}
		inList = false
	}
}

// check refuses what cannot be recorded.
func (c *Command) check() error {
	for _, f := range c.flags {
		name := strings.TrimPrefix(f.name, "test.")
		switch {
		case name == "exec":
			return execError("go " + c.Verb + " -exec")
		case c.Verb == "test" && name == "c" && f.value != "false":
			return errors.New("go test -c builds a test program and does not run it: leave -c out, or build it with -c first and record the program")
		case c.Verb == "test" && name == "fuzz" && f.value != "":
			return fmt.Errorf("go test -fuzz calls the fuzz target in processes of its own, which are not recorded: go test -run '%s' runs it with its seeds", f.value)
		}
	}
	return nil
}

// ErrToolexec says that a command has a -toolexec of its own, and Command.Tool is set.
var ErrToolexec = errors.New("the recorder by rebuilding needs -toolexec for itself: leave yours out, or choose another recorder")

func execError(where string) error {
	return errors.New(where + " cannot be recorded: the recorder itself must start the program. Leave -exec out, or build the program first and record it")
}

// Program returns the words that represent the program alone: the whole command
// line of go test, and that of go run without the program's arguments.
func (c *Command) Program() []string {
	if c.Verb == "run" {
		return slices.Clip(c.Args[:c.rest])
	}
	return c.Args
}

// Subject is what is built, for a message: the package or files of go run, "tests"
// of go test.
func (c *Command) Subject() string {
	if c.Verb == "run" {
		return strings.Join(c.Args[c.target:c.rest], " ")
	}
	return "tests"
}

// keepDebug undoes the linker's flags -s and -w, which the go command gives it first.
const keepDebug = "-s=false -w=false"

// Toolexec reports whether the command, or GOFLAGS with the value goflags, starts the go command's tools in a way of its own.
func (c *Command) Toolexec(goflags string) bool {
	if slices.ContainsFunc(c.flags, func(f flag) bool { return f.name == "toolexec" }) {
		return true
	}
	words, _ := splitQuoted(goflags)
	for i := range words {
		if f, kind := parseFlag(words, i, testFlags); kind == known && f.name == "toolexec" {
			return true
		}
	}
	return false
}

// Rewrite returns the command that builds without inlining and has recorder, a
// program and its first arguments, start what it built. include are the patterns of
// the packages to be recorded, none for all outside the standard library, and
// goflags is the value of GOFLAGS (see [Goflags]), since flags on the command line
// would hide those in it.
func (c *Command) Rewrite(recorder, include []string, goflags string) ([]string, error) {
	xprog, err := joinQuoted(recorder)
	if err != nil {
		return nil, fmt.Errorf("go %s -exec: %w", c.Verb, err)
	}
	out := slices.Clone(c.Args[:c.start])
	out = append(out, "-exec="+xprog)
	out = appendGcflags(out, noInlining(include, c.Mark))
	if c.Debug {
		out = append(out, "-ldflags="+keepDebug)
	}
	if len(c.Tool) > 0 {
		tool, err := joinQuoted(c.Tool)
		if err != nil {
			return nil, fmt.Errorf("go %s -toolexec: %w", c.Verb, err)
		}
		if c.Toolexec(goflags) {
			return nil, ErrToolexec
		}
		out = append(out, "-toolexec="+tool)
	}
	std := MayBeStd(include)
	// A GOFLAGS that does not parse is the go command's to report.
	words, _ := splitQuoted(goflags)
	for i := range words {
		f, kind := parseFlag(words, i, testFlags)
		if kind != known {
			continue
		}
		switch f.name {
		case "exec":
			return nil, execError("-exec in GOFLAGS")
		case "gcflags":
			out = appendGcflags(out, merge(f.value, std, c.Mark))
		case "ldflags":
			if c.Debug {
				out = append(out, "-ldflags="+f.value+" "+keepDebug)
			}
		}
	}
	next := c.start
	for _, f := range c.flags {
		if f.name != "gcflags" && !(f.name == "ldflags" && c.Debug) {
			continue
		}
		out = append(out, c.Args[next:f.at]...)
		if f.name == "gcflags" {
			out = appendGcflags(out, merge(f.value, std, c.Mark))
		} else {
			out = append(out, "-ldflags="+f.value+" "+keepDebug)
		}
		next = f.at + f.words
	}
	return append(out, c.Args[next:]...), nil
}

// Build returns the command that builds what Rewrite's would run, as the file out: of go test, the tests of package pkg.
func (c *Command) Build(out, pkg string, include []string, goflags string) ([]string, error) {
	words := slices.Clone(c.Args[:c.start])
	for _, f := range c.flags {
		if !slices.Contains([]string{"o", "n", "x", "json"}, f.name) {
			words = append(words, c.Args[f.at:f.at+f.words]...)
		}
	}
	verb, instead := "build", []string{"-o=" + out} // of -exec
	if c.Verb == "run" {
		words = append(words, c.Args[c.target:c.rest]...)
	} else {
		verb, instead = "test", append(instead, "-c")
		words = append(words, pkg)
	}
	p, err := Parse(words)
	if err != nil {
		return nil, err
	}
	p.Debug, p.Tool, p.Mark = c.Debug, c.Tool, c.Mark
	args, err := p.Rewrite(nil, include, goflags)
	if err != nil {
		return nil, err
	}
	args[p.verb] = verb
	return slices.Replace(args, p.start, p.start+1, instead...), nil
}

func appendGcflags(out, values []string) []string {
	for _, v := range values {
		out = append(out, "-gcflags="+v)
	}
	return out
}
