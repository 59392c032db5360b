package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/phrase"
)

// section is a heading of a command's help, above the flags that were added
// after it.
type section struct {
	title string
	flags *pflag.FlagSet
}

// flags returns a flag set for c with the flags that every command has.
func (a *app) flags(c *command, help string) *pflag.FlagSet {
	f := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by parse
	f.SortFlags = false
	f.StringVar(&a.dir, "dir", "", "keep traces in `DIR` (default: $TRACERAG_DIR, or .tracerag in the module's root)")
	f.BoolVar(&a.quiet, "quiet", false, "print only errors on standard error")
	f.BoolVar(&a.noPager, "no-pager", false, "do not use a pager for long output at a terminal")
	everywhere := section{"Every command's flags", subset(f, 0)}
	a.section(f, "Flags")
	f.Usage = func() {
		a.paginate()
		fmt.Fprintf(a.stdout, "%s\n\nUsage: tracerag %s\n", strings.TrimSpace(help), strings.TrimSpace(c.name+" "+c.args))
		a.endSection(f)
		for _, s := range append(a.sections, everywhere) {
			if s.flags.HasFlags() {
				fmt.Fprintf(a.stdout, "\n%s:\n%s", s.title, s.flags.FlagUsages())
			}
		}
	}
	return f
}

// section begins a section of the help: thirty flags in one list are a wall.
func (a *app) section(f *pflag.FlagSet, title string) {
	a.endSection(f)
	a.sections = append(a.sections, section{title: title})
	a.sectioned = count(f)
}

func (a *app) endSection(f *pflag.FlagSet) {
	if n := len(a.sections); n > 0 && a.sections[n-1].flags == nil {
		a.sections[n-1].flags = subset(f, a.sectioned)
	}
}

func count(f *pflag.FlagSet) int {
	n := 0
	f.VisitAll(func(*pflag.Flag) { n++ })
	return n
}

// subset has the flags of f from the i-th on.
func subset(f *pflag.FlagSet, i int) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	out.SortFlags = false
	f.VisitAll(func(flag *pflag.Flag) {
		if i--; i < 0 {
			out.AddFlag(flag)
		}
	})
	return out
}

// parse parses a command line. When it returns false the command ends with the
// code.
func (a *app) parse(c *command, f *pflag.FlagSet, args []string) (code int, ok bool) {
	if a.onFlags != nil {
		a.onFlags(f)
		return exitOK, false
	}
	err := f.Parse(args)
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return exitOK, false
	case errors.As(err, &value):
		return a.usage(c, wrongValue(value)), false
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return a.usage(c, err.Error()+meant(f, unknown.GetSpecifiedName())), false
	case err != nil:
		return a.usage(c, err.Error()), false
	}
	if isPaged(c) {
		a.paginate()
	}
	return 0, true
}

// wrongValue says what a flag takes. The words of strconv and time are for
// programmers.
func wrongValue(err *pflag.InvalidValueError) string {
	flag := err.GetFlag()
	want := err.Unwrap().Error()
	switch flag.Value.Type() {
	case "int":
		want = "must be a whole number"
	case "duration":
		want = "must be a time with a unit, such as 90s or 10m"
	case "bool":
		want = "must be true or false, or just --" + flag.Name + ""
	}
	return fmt.Sprintf("--%s=%s: %s", flag.Name, err.GetValue(), want)
}

// meant says which flag a mistyped one may have meant.
func meant(f *pflag.FlagSet, name string) string {
	for n := 1; n <= 2 && n < len(name); n++ {
		found := ""
		f.VisitAll(func(flag *pflag.Flag) {
			if found == "" && phrase.Distance(name, flag.Name) <= n {
				found = flag.Name
			}
		})
		if found != "" {
			return ": did you mean --" + found + "?"
		}
	}
	return ""
}
