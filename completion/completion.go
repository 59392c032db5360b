// Package completion completes command lines in shells. The scripts of [Script] call the
// program itself with the words typed so far ([Complete]). It answers with a candidate a
// line, then a tab and what it is, and in the last line what the shell is to add from
// the file system: ":files", ":dirs" or ":none".
//
// Libraries that do this (cobra, complete) complete commands and flags. Here most of what
// one wants completed are traces, their tests' names and the functions in them.
package completion

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/trace/symbol"
)

//go:embed tracerag.bash tracerag.zsh tracerag.fish
var scripts embed.FS

// Shells are those that have a script.
var Shells = []string{"bash", "zsh", "fish"}

// Script is what a shell reads to complete command lines.
func Script(shell string) (string, error) {
	script, err := scripts.ReadFile("tracerag." + shell)
	return strings.TrimLeft(string(script), "\n"), err
}

// Command is a subcommand as its help has it.
type Command struct {
	Name, Args, Short string
	Flags             func() *pflag.FlagSet
}

// Source is what command lines are completed from.
type Source struct {
	Commands []Command
	Topics   [][2]string // names and what they are about, of help
	// Open returns the traces of a directory, "" for the usual one.
	Open func(dir string) (*session.Session, error)
}

// Choice is the value of a flag that is one of a few words.
type Choice interface{ Words() []string }

// completer is one command line that is being typed.
type completer struct {
	Source
	dir   string // flag --dir
	word  string // to be completed; may be empty
	found []candidate
	more  string // of the last line
}

type candidate struct{ word, about string }

// Complete answers a shell. The words are those behind the program's name, the last one
// being typed; --line LINE has them as bash has them, with the program's name and
// unsplit. If something goes wrong, a shell gets no candidates.
func Complete(w io.Writer, src Source, args []string) {
	words := args
	if len(args) == 2 && args[0] == "--line" {
		var err error
		if words, err = phrase.Split(args[1]); err != nil || len(words) == 0 {
			return // within a quote
		}
		if words = words[1:]; strings.HasSuffix(args[1], " ") || len(words) == 0 {
			words = append(words, "")
		}
	}
	if len(words) == 0 {
		return
	}
	c := &completer{Source: src, word: words[len(words)-1], more: ":none"}
	c.complete(words[:len(words)-1])
	for _, x := range c.found {
		if x.about != "" {
			x.word += "\t" + x.about
		}
		fmt.Fprintln(w, x.word)
	}
	fmt.Fprintln(w, c.more)
}

// add offers a word, if it begins as what was typed and a shell takes it as it is.
// What it is comes from traces, too, and must not move the cursor.
func (c *completer) add(word, about string) {
	if !strings.HasPrefix(word, c.word) || phrase.Quote(word) != word {
		return
	}
	about, _, _ = strings.Cut(about, "\n")
	printable := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	c.found = append(c.found, candidate{word, strings.Map(printable, about)})
}

func (c *completer) complete(before []string) {
	if len(before) == 0 {
		c.commands()
		c.add("help", "all commands, or help on a command or topic")
		c.add("version", "the version of tracerag")
		return
	}
	if before[0] == "help" {
		if len(before) == 1 {
			c.commands()
			for _, t := range c.Topics {
				c.add(t[0], t[1])
			}
		}
		return
	}
	command, rest := c.find(before[0]), before[1:]
	if command == nil {
		return
	}
	if len(rest) > 0 {
		if sub := c.find(before[0] + " " + rest[0]); sub != nil {
			command, rest = sub, rest[1:]
		}
	}
	line := c.read(command, rest)
	switch {
	case line.program:
		c.more = ":files"
	case line.pending != nil:
		c.value(line.pending, line.operands)
	case strings.HasPrefix(c.word, "--") && strings.Contains(c.word, "="):
		c.joined(line)
	case strings.HasPrefix(c.word, "-"):
		line.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				_, usage := pflag.UnquoteUsage(f)
				c.add("--"+f.Name, usage)
			}
		})
		c.add("--help", "what the command does, and its flags")
	default:
		c.operand(command, line.operands)
	}
}

func (c *completer) find(name string) *Command {
	for i := range c.Commands {
		if c.Commands[i].Name == name {
			return &c.Commands[i]
		}
	}
	return nil
}

func (c *completer) commands() {
	for _, x := range c.Commands {
		if !strings.Contains(x.Name, " ") {
			c.add(x.Name, x.Short)
		}
	}
}

// typed is a command line as far as it has been typed.
type typed struct {
	flags    *pflag.FlagSet
	operands []string
	pending  *pflag.Flag // the flag whose value comes next
	program  bool        // what comes next belongs to the program that is run
}

// read takes the words behind a command apart, as pflag would if they were whole. Of
// the flags only --dir has an effect here.
func (c *completer) read(command *Command, words []string) typed {
	line := typed{flags: command.Flags()}
	runs := strings.Contains(command.Args, "PROGRAM") && strings.Contains(command.Args, "--")
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			line.program = runs || command.Name == "compare"
			return line
		}
		if len(w) < 2 || w[0] != '-' {
			line.operands = append(line.operands, w)
			if runs {
				line.program = true // its flags are not ours
				return line
			}
			continue
		}
		f := flagOf(line.flags, w)
		if f == nil || strings.Contains(w, "=") || f.NoOptDefVal != "" {
			if v, ok := strings.CutPrefix(w, "--dir="); ok {
				c.dir = v
			}
			continue
		}
		if i++; i == len(words) {
			line.pending = f
		} else if f.Name == "dir" {
			c.dir = words[i]
		}
	}
	return line
}

// flagOf returns the flag that a word is, or the last of its letters; nil for none.
func flagOf(flags *pflag.FlagSet, word string) *pflag.Flag {
	name, _, _ := strings.Cut(word, "=")
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return flags.Lookup(long)
	}
	return flags.ShorthandLookup(name[len(name)-1:])
}

// joined completes the value in --flag=value.
func (c *completer) joined(line typed) {
	f := flagOf(line.flags, c.word)
	if f == nil {
		return
	}
	name, value, _ := strings.Cut(c.word, "=")
	c.word = value
	c.value(f, line.operands)
	for i := range c.found {
		c.found[i].word = name + "=" + c.found[i].word
	}
}

// value completes the value of a flag, by what its help calls it.
func (c *completer) value(f *pflag.Flag, operands []string) {
	if words, ok := f.Value.(Choice); ok {
		c.words(words.Words()...)
		return
	}
	what, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "recorder":
		c.words("auto", "probe", "breakpoint")
	case f.Name == "ignore":
		c.words("counts", "order", "goroutines")
	case f.Value.Type() == "bool":
		c.words("true", "false")
	case what == "DIR":
		c.more = ":dirs"
	case what == "FILE", what == "REFERENCE":
		c.more = ":files"
		if what == "REFERENCE" {
			c.traces()
		}
	case strings.HasPrefix(what, "TRACE"):
		c.traces()
		if f.Name == "baseline" {
			c.add("none", "no baseline")
		}
	case what == "FUNC":
		if f.Name == "values" {
			c.words("own", "all")
		}
		c.functions(operands)
	}
}

func (c *completer) words(words ...string) {
	for _, w := range words {
		if w != "" {
			c.add(w, "")
		}
	}
}

// operand completes a word that is no flag, by what the command's usage calls it.
func (c *completer) operand(command *Command, before []string) {
	usage := command.Args
	switch {
	case command.Name == "eval" && len(before) == 0:
		c.words("experiment", "locate")
	case strings.Contains(usage, "TRACE"), strings.Contains(usage, " A B"):
		c.traces()
		if strings.Contains(c.word, "/") {
			c.more = ":files"
		}
	case strings.Contains(usage, "FILE"), strings.Contains(usage, "PROGRAM"):
		c.more = ":files"
	default:
		for word := range strings.FieldsSeq(usage) {
			if strings.Contains(word, "|") && len(before) == 0 {
				c.words(strings.Split(word, "|")...)
			}
		}
	}
}

// described is how many of the newest traces are read to say what they are: all of
// them would keep the user waiting.
const described = 40

// traces offers the saved traces, the newest first: by id, by name, and the newest
// two by @last and @prev.
func (c *completer) traces() {
	look, err := c.Open(c.dir)
	if err != nil {
		return
	}
	list, err := look.Store.List()
	if err != nil {
		return
	}
	named := map[string]bool{}
	for i, e := range slices.Backward(list) {
		age := len(list) - 1 - i
		about, name := e.Saved.Local().Format(time.DateTime), ""
		if age < described {
			if h, _, err := look.Head(e.Path); err == nil {
				about, name = session.Title(h.Trace), h.Trace.Name
			}
		}
		switch age {
		case 0:
			c.add("@last", about)
		case 1:
			c.add("@prev", about)
		}
		c.add(e.ID, about)
		if name != "" && !named[name] {
			named[name] = true
			c.add(name, e.ID+", "+about)
		}
	}
}

// functions offers what --focus takes: the short names of the functions of the trace
// that is named, or else the last one.
func (c *completer) functions(operands []string) {
	look, err := c.Open(c.dir)
	if err != nil {
		return
	}
	name := "@last"
	if len(operands) > 0 {
		if _, err := look.Store.Find(operands[0]); err == nil { // and no question
			name = operands[0]
		}
	}
	tr, e, err := look.Store.Load(name)
	if err != nil {
		return
	}
	look.Warn = nil // a shell shows what it is offered
	tr, _ = look.Join(tr, e)
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		return
	}
	seen := map[string]bool{}
	tree.Walk(func(n *calltree.Node, _ int) bool {
		// Without the receiver's parentheses and star, which a shell would quote.
		short := strings.NewReplacer("(*", "", ")", "").Replace(symbol.Short(n.Func.Name))
		if !seen[short] {
			seen[short] = true
			c.add(short, n.Func.Package)
		}
		return true
	})
}
