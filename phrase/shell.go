package phrase

import (
	"errors"
	"strings"

	"github.com/kballard/go-shellquote"
)

// CommandLine writes arguments so that a shell reads them back.
func CommandLine(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = Quote(a)
	}
	return strings.Join(out, " ")
}

// Quote writes a word so that a shell reads it back: in single quotes, unless it needs
// none.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case word == "":
		return "''"
	case strings.Trim(word, plain) == "":
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Split splits a command line into words as a shell does, without expanding anything.
func Split(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	switch {
	case errors.Is(err, shellquote.UnterminatedSingleQuoteError):
		err = errors.New("the quote ' is not closed")
	case errors.Is(err, shellquote.UnterminatedDoubleQuoteError):
		err = errors.New(`the quote " is not closed`)
	case errors.Is(err, shellquote.UnterminatedEscapeError):
		err = errors.New(`nothing follows the last \`)
	}
	return words, err
}
