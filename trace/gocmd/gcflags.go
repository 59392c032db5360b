package gocmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// noInlining are the values of -gcflags that switch inlining off for the packages
// to be recorded by include, and for all that may call them. All packages outside the
// standard library get mark, too, if that is not "".
func noInlining(include []string, mark string) []string {
	off := strings.TrimSuffix("-l "+mark, " ")
	out := []string{"all=" + off, "std="}
	ours := len(out)
	for _, p := range include {
		switch {
		case p == "all":
			out = append(out, "std=-l")
		case mayBeStd(p):
			out = append(out, p+"="+off) // it may be ours after all
		}
	}
	if len(out) > ours {
		// No recorder stops in these, and every allocation would be slower.
		out = append(out, "runtime/...=", "internal/runtime/...=")
	}
	return out
}

// MayBeStd reports whether one of some patterns may match packages of the standard library.
func MayBeStd(patterns []string) bool { return slices.ContainsFunc(patterns, mayBeStd) }

// mayBeStd reports whether a pattern may match a package of the standard library.
// The first element of their import paths has no dot; "main" and a pattern of
// directories mean the user's own packages.
func mayBeStd(pattern string) bool {
	if pattern == "" || pattern == "main" || local(pattern) {
		return false
	}
	first, _, _ := strings.Cut(pattern, "/")
	return !strings.Contains(strings.ReplaceAll(first, "...", ""), ".")
}

// merge returns the values of -gcflags that mean one of the user's and keep
// inlining off: usually the same with -l added. The go command's rules for such a
// value are those of "go help build": a pattern and "=" before flags that begin
// with "-", and without them the packages of the command line. The same packages as
// without it get mark.
func merge(value string, std bool, mark string) []string {
	pattern, flags := "", strings.TrimSpace(value)
	if flags != "" && flags[0] != '-' {
		var ok bool
		if pattern, flags, ok = strings.Cut(flags, "="); !ok {
			return []string{value} // an error, which the go command reports
		}
		pattern += "="
	}
	words, err := splitQuoted(flags)
	if err != nil {
		return []string{value}
	}
	off := pattern + withoutInlining(flags, words)
	marked := strings.TrimSuffix(off+" "+mark, " ")
	switch strings.TrimSpace(strings.TrimSuffix(pattern, "=")) {
	case "std", "cmd":
		if !std {
			return []string{value}
		}
		return []string{off}
	case "all":
		switch {
		case !std && marked != value:
			return []string{marked, "std=" + flags}
		case marked != off:
			return []string{marked, "std=" + strings.TrimPrefix(off, pattern)}
		}
	}
	return []string{marked}
}

// withoutInlining adds to the compiler's flags what makes it not inline. The flag
// -l counts: once is off, none and more are on, and -l=N sets the count.
func withoutInlining(flags string, words []string) string {
	count := 0
	for _, w := range words {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(w, "-"), "=")
		if name != "l" && name != "-l" {
			continue
		}
		n, err := strconv.Atoi(value)
		switch {
		case !hasValue || value == "true":
			count++
		case err == nil:
			count = n
		default:
			count = 0
		}
	}
	switch {
	case count == 1:
		return flags
	case count == 0 && strings.TrimSpace(flags) == "":
		return "-l"
	case count == 0:
		return flags + " -l"
	}
	return flags + " -l=1"
}

// splitQuoted splits a list as the go command does: at spaces, but not within
// single or double quotes around a whole element. Nothing is escaped.
func splitQuoted(s string) ([]string, error) {
	const space = " \t\r\n"
	var words []string
	for s = strings.TrimLeft(s, space); s != ""; s = strings.TrimLeft(s, space) {
		end := strings.IndexAny(s, space)
		if q := s[0]; q == '"' || q == '\'' {
			i := strings.IndexByte(s[1:], q)
			if i < 0 {
				return nil, fmt.Errorf("unterminated %c in %s", q, s)
			}
			words, s = append(words, s[1:1+i]), s[i+2:]
			continue
		}
		if end < 0 {
			end = len(s)
		}
		words, s = append(words, s[:end]), s[end:]
	}
	return words, nil
}

// joinQuoted is the inverse of splitQuoted.
func joinQuoted(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\r\n'\""):
			quoted[i] = w
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		default:
			return "", fmt.Errorf("%s contains both kinds of quotes: the go command does not accept that", w)
		}
	}
	return strings.Join(quoted, " "), nil
}
