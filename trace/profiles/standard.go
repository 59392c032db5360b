package profiles

import "strings"

// standard reports whether an import path is one of the Go distribution's, by
// its first element. A profile does not say which modules the program was made
// of. The go command's rule, that a path of a module has a dot in its first
// element, holds for what can be downloaded and not for the module that one
// works on, which is the one that matters here and often is called "app".
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return standardFirst[strings.TrimSuffix(first, "_test")]
}

// standardFirst holds the first elements of the standard library's import
// paths, vendor among them; a test compares them with the toolchain's. The go
// command's own cmd is a program like any other.
var standardFirst = set(`archive arena bufio bytes cmp compress container context crypto
	database debug embed encoding errors expvar flag fmt go hash html image index internal io iter
	log maps math mime net os path plugin reflect regexp runtime simd slices sort strconv strings
	structs sync syscall testing text time unicode unique unsafe vendor weak`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
