// Package symbol takes the linker's names of Go functions apart.
//
// A linker name is the import path of the package, a dot, and the function
// within it: "example.com/a/b.F", "example.com/a/b.(*T).M", "main.main.func1",
// "example.com/a/b.Map[go.shape.int]". Dots in the last element of an import
// path are escaped as %2e so that the first dot after the last slash ends the
// package; type arguments may hold slashes and dots of their own.
package symbol

import "strings"

// Package returns the import path in a linker name, or "" for a name that has
// none (an assembly routine of C, "_cgo_panic", "type:.eq.T").
func Package(name string) string {
	n := packageLen(name)
	if n <= 0 {
		return ""
	}
	return Unescape(name[:n])
}

// Local returns the part of a linker name after the package: "(*T).M".
func Local(name string) string {
	n := packageLen(name)
	if n <= 0 {
		return name
	}
	return name[n+1:]
}

// Short returns a linker name with only what the package is called by, which is mostly
// its name: "b.(*T).M". It is what people use. See Base.
func Short(name string) string {
	n := packageLen(name)
	if n <= 0 {
		return name
	}
	return Base(Unescape(name[:n])) + name[n:]
}

// Base returns what the package with an import path is called by where the package
// clause is not known: the last element without a major version, "chroma" for
// "github.com/alecthomas/chroma/v2", "yaml" for "gopkg.in/yaml.v3".
func Base(path string) string {
	dir, last := cutLast(path)
	if isVersion(last) && dir != "" {
		_, last = cutLast(dir)
		return last
	}
	if i := strings.LastIndexByte(last, '.'); i > 0 && (isVersion(last[i+1:]) || last[i:] == ".v1") && strings.HasPrefix(path, "gopkg.in/") {
		return last[:i]
	}
	return last
}

// cutLast splits a path before its last element.
func cutLast(path string) (dir, last string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// isVersion reports whether an element of a path is a major version: "v2". A module's
// path has none below 2; "k8s.io/api/core/v1" is a package v1.
func isVersion(s string) bool {
	return len(s) >= 2 && s[0] == 'v' && s[1] != '0' && s != "v1" && strings.Trim(s[1:], "0123456789") == ""
}

// packageLen returns the length of the package part, still escaped, or -1.
func packageLen(name string) int {
	if strings.HasPrefix(name, "type:") || strings.HasPrefix(name, "go:") {
		return -1
	}
	base := name
	// Type arguments hold whole import paths: they end the search for slashes.
	if i := strings.IndexByte(base, '['); i >= 0 {
		base = base[:i]
	}
	slash := strings.LastIndexByte(base, '/')
	dot := strings.IndexByte(base[slash+1:], '.')
	if dot <= 0 {
		return -1
	}
	return slash + 1 + dot
}

// Unescape undoes the linker's escaping of an import path: %xx for dots in the
// last element, control characters, quotes, percent signs and non-ASCII bytes.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := hex(s[i+1]), hex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Join returns the linker name of a function of a package: the opposite of Package and
// Local.
func Join(path, local string) string { return Escape(path) + "." + local }

// Escape writes an import path as the linker does: bytes that could end it too early,
// dots of the last element among them, become %xx.
func Escape(path string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	last := strings.LastIndexByte(path, '/') + 1
	for i := 0; i < len(path); i++ {
		if c := path[i]; c <= ' ' || i >= last && c == '.' || c == '%' || c == '"' || c >= 0x7F {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
