package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that a go command and tests need, and that hold no keys. Safe names are
// listed, since secret ones can't be.
var passed = []string{
	"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_NUMERIC", "LC_MESSAGES", "TZ", "TERM", "USER", "LOGNAME", "SHELL",
	"GOROOT", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOWORK", "GO111MODULE", "GODEBUG", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOENV",
	"CC", "CXX", "AR", "FC", "PKG_CONFIG", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH",
	"SystemRoot", "SYSTEMROOT", "ComSpec", "PATHEXT", "windir", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// Environment returns an environment for a go command without keys and tokens. It has the known safe
// variables of base. Home, temporary files and build cache are below scratch, which must be writable.
// Settings ("NAME=value") replace all of these. Each variable is there once: of two, programs
// in Go take the first and shells the last.
func Environment(base []string, scratch string, network bool, settings ...string) []string {
	var names []string
	values := map[string]string{}
	set := func(kv string) {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return
		}
		if _, again := values[name]; !again {
			names = append(names, name)
		}
		values[name] = value
	}
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(passed, name) || strings.HasPrefix(name, "CGO_") {
			set(kv)
		}
	}
	home, tmp := filepath.Join(scratch, "home"), filepath.Join(scratch, "tmp")
	own := []string{"HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp, "GOCACHE=" + filepath.Join(scratch, "gocache"), "GOTOOLCHAIN=local", "GOTELEMETRY=off"}
	if !network {
		own = append(own, "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off")
	}
	for _, kv := range slices.Concat(own, settings) {
		set(kv)
	}
	env := make([]string, len(names))
	for i, name := range names {
		env[i] = name + "=" + values[name]
	}
	return env
}
