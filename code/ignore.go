package code

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// ignoreFile is a .gitignore or .git/info/exclude with the files that have a say before
// it. Its rules are git's, and a test holds them against git. No library is used: that of
// go-git takes "[!a]", "a/**/b" and "a**b" for something else than git, the others are
// not kept any more or know a single file only.
type ignoreFile struct {
	outer *ignoreFile // that of a parent directory; nil is none
	dir   string      // slash path with "/" behind it, or "": what patterns are relative to

	// Rules without wildcards, which may be hundreds of thousands, are looked up. By name,
	// by path, and by the end of a name ("*.o"), of which the lengths are in ends.
	names, paths, suffixes map[string]rulings
	ends                   []int // ascending

	patterns []ignoreRule // the others, in order
	all      int          // patterns of this file and those outside of it
	left     int          // patterns that are not applied: see mostPatterns
}

// mostPatterns is how many patterns with wildcards apply to a path: each is compared with each path. The
// largest collections for people have some hundred.
const mostPatterns = 4000

// longestPattern is how long one is at most: no path is longer.
const longestPattern = 4096

// ruling is what a rule says, and its line: of several that match the last one decides, which is the
// greatest. 0 is none.
type ruling int

func (r ruling) ignores() bool { return r&1 != 0 }

// rulings are those of one text: of the last rule, and of the last that is not of directories alone.
type rulings struct{ dirs, any ruling }

func (r rulings) of(dir bool) ruling {
	if dir {
		return r.dirs
	}
	return r.any
}

// ignoreRule is a line.
type ignoreRule struct {
	ruling
	dirOnly bool // ends in "/"
	path    bool // has another "/": holds for the path, others for the name alone

	// One of these says what matches: a whole text, an end, or a pattern.
	literal, suffix string
	pattern         *regexp.Regexp
	// What the pattern matches begins and ends with bytes of these: asking that first
	// saves nearly all of the time.
	head, tail []*byteSet
}

// byteSet says which bytes may be in a place; nil is any.
type byteSet [4]uint64

func (s *byteSet) add(b byte) { s[b>>6] |= 1 << (b & 63) }

func (s *byteSet) has(b byte) bool { return s == nil || s[b>>6]>>(b&63)&1 != 0 }

// ignores reports whether a file or directory with a path below the root that the
// file's dir is relative to is ignored. It does not look at the directories above it.
func (f *ignoreFile) ignores(path string, dir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; f != nil; f = f.outer {
		below, ok := strings.CutPrefix(path, f.dir)
		if !ok {
			continue
		}
		if r := f.ruling(name, below, dir); r != 0 {
			return r.ignores()
		}
	}
	return false
}

// ruling is that of the last rule that matches.
func (f *ignoreFile) ruling(name, path string, dir bool) ruling {
	last := max(f.names[name].of(dir), f.paths[path].of(dir))
	for _, n := range f.ends {
		if n > len(name) {
			break
		}
		last = max(last, f.suffixes[name[len(name)-n:]].of(dir))
	}
	for i := len(f.patterns) - 1; i >= 0 && f.patterns[i].ruling > last; i-- {
		r := &f.patterns[i]
		text := name
		if r.path {
			text = path
		}
		if (dir || !r.dirOnly) && r.mayMatch(text) && r.pattern.MatchString(bytewise(text)) {
			return r.ruling
		}
	}
	return last
}

// add adds the rule of the line behind those before.
func (f *ignoreFile) add(r ignoreRule) {
	var in *map[string]rulings
	text := r.literal
	switch {
	case r.pattern != nil:
		f.patterns = append(f.patterns, r)
		f.all++
		return
	case r.suffix != "":
		in, text = &f.suffixes, r.suffix
	case r.path:
		in = &f.paths
	default:
		in = &f.names
	}
	if *in == nil {
		*in = map[string]rulings{}
	}
	old := (*in)[text]
	old.dirs = r.ruling
	if !r.dirOnly {
		old.any = r.ruling
	}
	(*in)[text] = old
}

func (r *ignoreRule) mayMatch(text string) bool {
	if len(text) < max(len(r.head), len(r.tail)) {
		return false
	}
	end := text[len(text)-len(r.tail):]
	for i := len(r.tail) - 1; i >= 0; i-- {
		if !r.tail[i].has(end[i]) {
			return false
		}
	}
	for i, s := range r.head {
		if !s.has(text[i]) {
			return false
		}
	}
	return true
}

// parseIgnore reads the text of an ignore file; it returns outer when that has no rules.
func parseIgnore(text []byte, dir string, outer *ignoreFile) *ignoreFile {
	f := &ignoreFile{outer: outer, dir: dir}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if outer != nil {
		f.all = outer.all
	}
	lines, rules := 0, 0
	for line := range bytes.Lines(text) {
		lines++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) > longestPattern && line[0] != '#' {
			f.left++
			continue
		}
		r, expr, ok := parseRule(string(line))
		if expr != "" {
			if f.all == mostPatterns {
				f.left++
				continue
			}
			var err error
			r.pattern, err = regexp.Compile(expr)
			ok = err == nil
		}
		if ok {
			r.ruling |= ruling(lines << 1)
			f.add(r)
			rules++
		}
	}
	if rules == 0 && f.left == 0 {
		return outer
	}
	lengths := map[int]bool{}
	for end := range f.suffixes {
		lengths[len(end)] = true
	}
	f.ends = slices.Sorted(maps.Keys(lengths))
	return f
}

// gap says what of the file is not applied; false if all of it is.
func (f *ignoreFile) gap(file string) (Gap, bool) {
	if f == nil || f.left == 0 {
		return Gap{}, false
	}
	return Gap{file, fmt.Sprintf("it has too many patterns: %d are not applied (longer than %d bytes, or behind the first %d with wildcards)",
		f.left, longestPattern, mostPatterns)}, true
}

// parseRule reads a line: a rule, or one whose pattern is to be made of the expression.
func parseRule(line string) (r ignoreRule, expr string, ok bool) {
	if line == "" || line[0] == '#' {
		return r, "", false
	}
	line, unless := strings.CutPrefix(withoutEndSpaces(line), "!")
	if !unless {
		r.ruling = 1
	}
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if name, ok := strings.CutPrefix(line, "**/"); ok && name != "" && !strings.Contains(name, "/") {
		line = name // means the same, and is compared with less
	}
	r.path = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, "", false
	}
	switch {
	case !strings.ContainsAny(line, `*?[\`):
		r.literal = line
		return r, "", true
	case !r.path && line[0] == '*' && len(line) > 1 && !strings.ContainsAny(line[1:], `*?[\`):
		r.suffix = line[1:]
		return r, "", true
	}
	expr, r.head, r.tail, ok = ignoreExpression(line, r.path)
	return r, expr, ok
}

// withoutEndSpaces cuts spaces at the end, but those behind a backslash.
func withoutEndSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
			end = i + 1
		} else if line[i] != ' ' {
			end = i + 1
		}
	}
	return line[:end]
}

// ignoreExpression makes a regular expression of a pattern, which takes time in
// proportion to the text whatever the pattern is. The text begins and ends with bytes of
// head and tail. ok is false for a pattern that matches nothing.
func ignoreExpression(p string, path bool) (expr string, head, tail []*byteSet, ok bool) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	first := strings.IndexAny(p, `*?[\`)
	stars := false
	element := func(expr string, bytes *byteSet) {
		b.WriteString(expr)
		if tail = append(tail, bytes); !stars {
			head = tail
		}
	}
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			stars, tail = true, nil
			from := i
			for i < len(p) && p[i] == '*' {
				i++
			}
			// Two are directories when they are all that is between two slashes. Git
			// compares what is before the first sign on its own, and then takes that
			// sign for the beginning.
			if !path || i-from < 2 || from > first && p[from-1] != '/' || i < len(p) && p[i] != '/' {
				b.WriteString(`[^/]*`)
			} else if i == len(p) {
				b.WriteString(`.*`)
			} else {
				b.WriteString(`(?:.*/)?`)
				i++
			}
		case '?':
			element(`[^/]`, nil)
			i++
		case '[':
			class, n := ignoreClass(p[i:])
			if n == 0 {
				return "", nil, nil, false
			}
			element(class, bytesOf(class))
			i += n
		case '\\':
			if i+1 == len(p) {
				return "", nil, nil, false
			}
			element(quoteByte(p[i+1]), only(p[i+1]))
			i += 2
		default:
			element(quoteByte(c), only(c))
			i++
		}
	}
	b.WriteString(`\z`)
	return b.String(), head, tail, true
}

func only(b byte) *byteSet {
	s := new(byteSet)
	s.add(b)
	return s
}

// bytesOf returns the bytes that a class of an expression matches.
func bytesOf(class string) *byteSet {
	re, err := syntax.Parse(class, syntax.Perl)
	if err != nil || re.Op != syntax.OpCharClass {
		return nil
	}
	s := new(byteSet)
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for c := re.Rune[i]; c <= min(re.Rune[i+1], 0xff); c++ {
			s.add(byte(c))
		}
	}
	return s
}

var posixClass = regexp.MustCompile(`\A\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]`)

// ignoreClass makes the class that p begins with, and says how long it is in p; 0 if it
// does not end.
func ignoreClass(p string) (class string, length int) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	not := i < len(p) && (p[i] == '!' || p[i] == '^')
	if not {
		b.WriteString(`^/`)
		i++
	}
	members := 0
	one := func() (c byte, ok bool) {
		if p[i] == '\\' {
			i++
		}
		if i == len(p) {
			return 0, false
		}
		i++
		return p[i-1], true
	}
	for first := i; i < len(p); {
		if p[i] == ']' && i > first {
			b.WriteByte(']')
			if members == 0 {
				return `[^\x{0}-\x{10ffff}]`, i + 1 // "[/]"
			}
			return b.String(), i + 1
		}
		if strings.HasPrefix(p[i:], "[:") {
			m := posixClass.FindString(p[i:])
			if m == "" {
				return "", 0
			}
			b.WriteString(m)
			members++
			i += len(m)
			continue
		}
		from, ok := one()
		if !ok {
			return "", 0
		}
		to := from
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			if to, ok = one(); !ok {
				return "", 0
			}
		}
		// To git "[b-a]" is b. No class matches a slash, which only "/" and "**" do.
		for _, r := range [3][2]int{{int(from), int(from)}, {int(from), min(int(to), '/'-1)}, {max(int(from), '/'+1), int(to)}} {
			if r[0] <= r[1] && r[0] != '/' {
				b.WriteString(quoteByte(byte(r[0])) + "-" + quoteByte(byte(r[1])))
				members++
			}
		}
		if not {
			members++ // "[^/]" is all
		}
	}
	return "", 0
}

func quoteByte(c byte) string {
	const hex = "0123456789abcdef"
	return `\x{` + string([]byte{hex[c>>4], hex[c&15]}) + `}`
}

// bytewise makes a rune of each byte: to git patterns are bytes.
func bytewise(text string) string {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			runes := make([]rune, len(text))
			for j := range len(text) {
				runes[j] = rune(text[j])
			}
			return string(runes)
		}
	}
	return text
}
