package main

import (
	"context"
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

// Shells ask tracerag itself what a word may become: the scripts of completion.go
// call the hidden command __complete with the words of the command line so far. It
// answers with a candidate a line, then a tab and what it is, and in the last line
// what the shell is to add from the file system: ":files", ":dirs" or ":none".

// completer is one command line that is being typed.
type completer struct {
	a     *app
	ctx   context.Context
	word  string // to be completed; may be empty
	found []candidate
	more  string // of the last line
}

type candidate struct{ word, about string }

// runComplete answers a shell. The words are those behind the program's name, the
// last one being typed; --line LINE has them as bash has them, with the program's
// name and unsplit. Whatever goes wrong, a shell is told nothing.
func (a *app) runComplete(ctx context.Context, args []string) int {
	words := args
	if len(args) == 2 && args[0] == "--line" {
		var err error
		if words, err = phrase.Split(args[1]); err != nil || len(words) == 0 {
			return exitOK // within a quote
		}
		if words = words[1:]; strings.HasSuffix(args[1], " ") || len(words) == 0 {
			words = append(words, "")
		}
	}
	if len(words) == 0 {
		return exitOK
	}
	asked := *a
	asked.stdout, asked.stderr, asked.quiet = io.Discard, io.Discard, true
	c := &completer{a: &asked, ctx: ctx, word: words[len(words)-1], more: ":none"}
	c.complete(words[:len(words)-1])
	for _, x := range c.found {
		if x.about != "" {
			x.word += "\t" + x.about
		}
		fmt.Fprintln(a.stdout, x.word)
	}
	fmt.Fprintln(a.stdout, c.more)
	return exitOK
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
			for _, t := range topics() {
				c.add(t.name, t.about)
			}
		}
		return
	}
	command := find(before[0])
	if command == nil {
		return
	}
	line := c.read(command, before[1:])
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

func (c *completer) commands() {
	for _, x := range commands {
		c.add(x.name, x.short)
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
func (c *completer) read(command *command, words []string) typed {
	line := typed{flags: c.flagsOf(command)}
	runs := strings.Contains(command.args, "PROGRAM") && strings.Contains(command.args, "--")
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			line.program = runs || command.name == "compare"
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
				c.a.dir = v
			}
			continue
		}
		if i++; i == len(words) {
			line.pending = f
		} else if f.Name == "dir" {
			c.a.dir = words[i]
		}
	}
	return line
}

// flagsOf returns the flags of a command, which stops where it would parse them.
func (c *completer) flagsOf(command *command) *pflag.FlagSet {
	var flags *pflag.FlagSet
	asked := *c.a
	asked.onFlags = func(f *pflag.FlagSet) { flags = f }
	command.run(&asked, c.ctx, command, nil)
	return flags
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
	if words, ok := f.Value.(choice); ok {
		c.words(words.words...)
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
func (c *completer) operand(command *command, before []string) {
	usage := command.args
	switch {
	case command.name == "eval" && len(before) == 0:
		c.words("experiment")
	case strings.Contains(usage, "TRACE"), strings.HasSuffix(usage, " A B"):
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
	s, err := c.a.store()
	if err != nil {
		return
	}
	list, err := s.List()
	if err != nil {
		return
	}
	look := c.a.session(s)
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
	s, err := c.a.store()
	if err != nil {
		return
	}
	name := "@last"
	if len(operands) > 0 {
		if _, err := s.Find(operands[0]); err == nil { // and no question
			name = operands[0]
		}
	}
	tr, _, err := s.Load(name)
	if err != nil {
		return
	}
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
