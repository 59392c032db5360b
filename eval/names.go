package eval

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"tracerag/prompt"
	"tracerag/trace/symbol"
)

// Function is a function in the call trees that a question is about.
type Function struct {
	Name    string   // as the tree shows it: "ansi.(*TableElement).setBorders"
	File    string   // its path with slashes; "" if unknown
	Start   int      // its first and last line in File; 0 if unknown
	End     int      //
	Callers []string // the names of the functions that call it in the trees
}

// things are what names and positions in an answer can mean: the functions of the
// trees, and what criteria expect besides, such as types.
type things struct {
	all      []thing
	byLast   map[string][]int // indices in all, by the last element of the name
	packages map[string]bool
}

// thing is a function or a type. A closure is a part of the function around it.
type thing struct {
	name    string   // as the tree or the criterion has it
	names   []string // "table", "Table", "Border"
	member  bool     // cited, too, where a method or a field of it is
	places  []place
	callers []string // keys
}

type place struct {
	file       string
	start, end int
}

func key(names []string) string { return strings.Join(names, ".") }

func newThings(functions []Function) *things {
	t := &things{byLast: map[string][]int{}, packages: map[string]bool{}}
	for _, f := range functions {
		names := nameParts(f.Name)
		if names == nil {
			continue
		}
		t.packages[names[0]] = true
		th := &t.all[t.add(f.Name, names)]
		if f.File != "" {
			th.places = append(th.places, place{f.File, f.Start, f.End})
		}
		if closurePattern().MatchString(f.Name) {
			continue // a caller of a closure does not lead to the function around it
		}
		for _, c := range f.Callers {
			if c := nameParts(c); c != nil && key(c) != key(names) {
				th.callers = append(th.callers, key(c))
			}
		}
	}
	return t
}

// clone returns a copy, to which a criterion can add what it expects.
func (t *things) clone() *things {
	c := &things{all: slices.Clone(t.all), byLast: map[string][]int{}, packages: t.packages}
	for last, all := range t.byLast {
		c.byLast[last] = slices.Clone(all)
	}
	return c
}

// add returns the index of a thing.
func (t *things) add(name string, names []string) int {
	last := names[len(names)-1]
	for _, i := range t.byLast[last] {
		if slices.Equal(t.all[i].names, names) {
			return i
		}
	}
	t.all = append(t.all, thing{name: name, names: names})
	t.byLast[last] = append(t.byLast[last], len(t.all)-1)
	return len(t.all) - 1
}

// expect returns the thing that a criterion names. What is no function of the
// trees may be a type, which an answer names with its methods, too.
func (t *things) expect(name string) []int {
	names := nameParts(name)
	if names == nil {
		return nil
	}
	known := len(t.all)
	i := t.add(name, names)
	if i == known {
		t.all[i].member = true
	}
	return []int{i}
}

// Unknown are the functions that an inquiry's criteria expect and that are neither
// functions of its call trees nor types of their methods, in the rubric's order. An
// answer may have to name what was not called; more often it is a name misspelled,
// which no answer has.
func Unknown(inq *Inquiry, functions []Function) []string {
	t := newThings(functions)
	known := func(name string) bool {
		names := nameParts(name)
		return names != nil && slices.ContainsFunc(t.all, func(k thing) bool {
			return len(k.names) >= len(names) && slices.Equal(k.names[:len(names)], names)
		})
	}
	var unknown []string
	for _, c := range inq.Criteria {
		for _, entry := range c.Functions {
			if !slices.ContainsFunc(Alternatives(entry), known) && !slices.Contains(unknown, entry) {
				unknown = append(unknown, entry)
			}
		}
	}
	return unknown
}

var (
	closurePattern = lazily(`\.(func|gowrap|deferwrap)\d|-range\d`)
	closurePart    = lazily(`^((func|gowrap|deferwrap)\d+|\d+)$`)
	versionPattern = lazily(`^v\d+$`)
	suffixPattern  = lazily(`-(fm|range\d+)`) // method values, bodies of loops over functions
)

// nameParts takes the name of a function in a tree apart, as prompt.Mention has
// those in answers. It is nil for what no answer names: what the compiler made.
func nameParts(name string) []string {
	name = suffixPattern().ReplaceAllString(symbol.WithoutArguments(name), "")
	if strings.Contains(name, "..") {
		return nil // a closure outside of functions: "main.glob..func1"
	}
	name = symbol.Short(name)
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".()*", r) })
	for len(parts) > 1 && closurePart().MatchString(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}

// meant are the things that an answer may mean by a name: those whose own name ends
// like it. A qualifier that begins with a small letter and is no package may be a
// variable that has the method, or another name of the package.
func (t *things) meant(names []string) []int {
	var found []int
	last := names[len(names)-1]
	for _, i := range t.byLast[last] {
		if t.fits(t.all[i].names, names) {
			found = append(found, i)
		}
	}
	if owner := names[:len(names)-1]; len(owner) > 0 {
		for _, i := range t.byLast[owner[len(owner)-1]] {
			if t.all[i].member && t.fits(t.all[i].names, owner) {
				found = append(found, i)
			}
		}
	}
	return found
}

func (t *things) fits(full, cited []string) bool {
	rest := full[:len(full)-1]
	for _, q := range cited[:len(cited)-1] {
		i := slices.Index(rest, q)
		switch {
		case i >= 0:
			rest = rest[i+1:]
		case startsUpper(q), t.packages[q], prompt.IsStd(q), len(full) < 3 && !renamed(full[0], q):
			return false
		}
	}
	return true
}

// renamed reports whether a package may have another name than trees have for it,
// which is an element of its import path: main, go-yaml, v1.
func renamed(element, name string) bool {
	return element == "main" || versionPattern().MatchString(element) || slices.Contains(strings.Split(element, "-"), name)
}

// at are the functions that have a line of a range.
func (t *things) at(file string, from, to int) []int {
	var found []int
	for i := range t.all {
		if slices.ContainsFunc(t.all[i].places, func(p place) bool {
			return p.start <= to && from <= p.end && samePath(p.file, file)
		}) {
			found = append(found, i)
		}
	}
	return found
}

// samePath reports whether one path is the end of the other. Versions of modules
// ("lipgloss@v1.1.0") do not count.
func samePath(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for len(as) > 0 && len(bs) > 0 {
		x, _, _ := strings.Cut(as[len(as)-1], "@")
		y, _, _ := strings.Cut(bs[len(bs)-1], "@")
		if x != y {
			return false
		}
		as, bs = as[:len(as)-1], bs[:len(bs)-1]
	}
	return true
}

func startsUpper(s string) bool {
	for _, r := range s {
		return unicode.IsUpper(r)
	}
	return false
}

// cited are the things that an answer names, one entry for each time, with all
// that may be meant.
//
// A name that several things have means those of them that the answer names in
// full elsewhere, if there are any. A position counts where no name says the same.
func (t *things) cited(ms []prompt.Mention) (text, code [][]int) {
	named := map[int]bool{}
	for _, m := range ms {
		if m.Kind != prompt.CitesFunction {
			continue
		}
		meant := t.meant(m.Names)
		switch {
		case len(meant) == 0:
			continue
		case m.In == prompt.InBlock:
			code = append(code, meant)
		default:
			text = append(text, meant)
		}
	}
	narrow(text, code)
	for _, meant := range slices.Concat(text, code) {
		for _, i := range meant {
			named[i] = true
		}
	}
	for _, m := range ms {
		if m.Kind != prompt.CitesPosition {
			continue
		}
		meant := t.at(m.File, m.From, m.To)
		if len(meant) > 0 && !slices.ContainsFunc(meant, func(i int) bool { return named[i] }) {
			text = append(text, meant)
		}
	}
	return text, code
}

// around are the things that lead to some others, and what those call
// themselves: anyone who explains a function names them, and offers no other one.
func (t *things) around(targets, beside map[int]bool) map[int]bool {
	byKey := map[string]int{}
	for i := range t.all {
		byKey[key(t.all[i].names)] = i
	}
	found := map[int]bool{}
	var up func(i int)
	up = func(i int) {
		for _, c := range t.all[i].callers {
			if k, ok := byKey[c]; ok && !found[k] {
				found[k] = true
				up(k)
			}
		}
	}
	for i := range targets {
		up(i)
	}
	for i := range t.all {
		if slices.ContainsFunc(t.all[i].callers, func(c string) bool {
			k, ok := byKey[c]
			return ok && (targets[k] || beside[k])
		}) {
			found[i] = true
		}
	}
	return found
}

// lazily compiles a pattern when it is needed: those of this package would take a
// millisecond of every command's start.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
