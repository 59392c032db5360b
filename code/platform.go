package code

import "strings"

// platform returns the constraint in the name of a Go file, as go/build reads it: what is
// before the first "_" says nothing, "_test" neither.
func platform(name string) string {
	name, _, _ = strings.Cut(name, ".")
	_, name, ok := strings.Cut(name, "_")
	if !ok {
		return ""
	}
	if i := strings.LastIndexByte(name, '_'); name[i+1:] == "test" {
		name = name[:max(i, 0)]
	}
	rest, last := "", name
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		rest, last = name[:i], name[i+1:]
	}
	system := rest[strings.LastIndexByte(rest, '_')+1:]
	switch {
	case architectures[last] && systems[system]:
		return system + "," + last
	case architectures[last] || systems[last]:
		return last
	}
	return ""
}

// Those that Go ever had, present or planned: a name in a list of go/build stays there.
var (
	systems = names(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd
		openbsd plan9 solaris wasip1 windows zos`)
	architectures = names(`386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64
		mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm`)
)

func names(list string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		m[name] = true
	}
	return m
}
