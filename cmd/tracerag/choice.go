package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// choice is the value of a flag that takes one of a few words, so that a wrong one
// is a wrong command line, found before anything is done. Case does not matter.
type choice struct {
	value *string
	words []string
}

// addChoice adds a flag to f whose first word is the default.
func addChoice(f *pflag.FlagSet, value *string, name, usage string, words ...string) {
	*value = words[0]
	f.Var(choice{value, words}, name, usage)
}

func (c choice) Set(s string) error {
	for _, w := range c.words {
		if strings.EqualFold(w, s) {
			*c.value = w
			return nil
		}
	}
	known := c.words
	if known[0] == "" {
		known = known[1:]
	}
	return fmt.Errorf("must be one of %s", listed(known, "or"))
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return "string" }

// Words are those that the flag takes, for shells that complete it.
func (c choice) Words() []string { return c.words }

// listed writes words as a sentence does: "a, b and c".
func listed(words []string, and string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}
