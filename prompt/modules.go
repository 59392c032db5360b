package prompt

import (
	"maps"
	"slices"
	"strings"

	"tracerag/source"
)

// modules shortens file names: in "github.com/x/y@v1.1.1-0.2025.../dir/f.go" the
// module becomes "y", and a section of the prompt lists what that represents.
// Some 25 tokens a function are 8 % of a prompt about a program whose work is
// done in dependencies.
type modules struct {
	short map[string]string // "github.com/x/y@v1.1.1-0.2025..." to "y"
	list  []string          // modules with a short name, in order of appearance
}

// newModules names the modules that the files of texts belong to.
func newModules(texts []source.Text) modules {
	m := modules{short: map[string]string{}}
	taken := map[string]bool{"std": true}
	for _, t := range texts {
		if moduleOf(t.Display) == "" {
			dir, _, _ := strings.Cut(t.Display, "/")
			taken[dir] = true // a directory of the main module
		}
	}
	for _, t := range texts {
		mod := moduleOf(t.Display)
		if _, ok := m.short[mod]; ok || mod == "" {
			continue
		}
		for _, name := range ShortNames(mod) {
			if !taken[name] {
				taken[name] = true
				m.short[mod] = name
				m.list = append(m.list, mod)
				break
			}
		}
	}
	return m
}

// file shortens the name of a file.
func (m *modules) file(display string) string {
	mod := moduleOf(display)
	if name, ok := m.short[mod]; ok {
		return name + display[len(mod):]
	}
	return display
}

// legend has a line for each short name, in their order; given files as they are
// shown, for the names that those begin with only.
func (m *modules) legend(files map[string]bool) string {
	names := map[string]string{}
	for _, mod := range m.list {
		if name := m.short[mod]; files == nil || files[name] {
			names[name] = mod
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.WriteString(name + ": " + oneLine(names[name]) + "\n")
	}
	return b.String()
}

// moduleOf returns the module of a file that is displayed as one of a
// dependency, with its version, or "".
func moduleOf(display string) string {
	at := strings.IndexByte(display, '@')
	if at <= 0 {
		return ""
	}
	slash := strings.IndexByte(display[at:], '/')
	if slash < 0 {
		return ""
	}
	return display[:at+slash]
}

// ShortNames are what a module may be called, the best first: its last
// element, but for a major version's, then more of it.
func ShortNames(mod string) []string {
	path, _, _ := strings.Cut(mod, "@")
	elems := strings.Split(path, "/")
	if n := len(elems); n > 1 && versionPattern.MatchString(elems[n-1]) {
		elems = elems[:n-1]
	}
	var names []string
	for i := len(elems) - 1; i >= 0; i-- {
		names = append(names, strings.Join(elems[i:], "-"))
	}
	return names
}
