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
	return unescape(name[:n])
}

// Local returns the part of a linker name after the package: "(*T).M".
func Local(name string) string {
	n := packageLen(name)
	if n <= 0 {
		return name
	}
	return name[n+1:]
}

// Short returns a linker name with only the last element of the import path:
// "b.(*T).M". It is what stack traces and people use.
func Short(name string) string {
	n := packageLen(name)
	if n <= 0 {
		return name
	}
	pkg := unescape(name[:n])
	return pkg[strings.LastIndexByte(pkg, '/')+1:] + name[n:]
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

// unescape undoes the linker's escaping of an import path: %xx for dots in the
// last element, control characters, quotes, percent signs and non-ASCII bytes.
func unescape(s string) string {
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
