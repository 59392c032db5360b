package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// passed is what of an environment a go command and tests need, and what holds no keys.
// A list of what is safe, since nobody can list what is secret.
var passed = []string{
	"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_NUMERIC", "LC_MESSAGES", "TZ", "TERM", "USER", "LOGNAME", "SHELL",
	"GOROOT", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOWORK", "GO111MODULE", "GODEBUG", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOENV",
	"CC", "CXX", "AR", "FC", "PKG_CONFIG", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH",
	"SystemRoot", "SYSTEMROOT", "ComSpec", "PATHEXT", "windir", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// Environment is that of a go command without keys and tokens: what of base is known to
// hold none, and home, temporary files and build cache below scratch, which must be writable.
// Settings ("NAME=value") come last and count.
func Environment(base []string, scratch string, network bool, settings ...string) []string {
	var env []string
	for _, kv := range base {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(passed, name) || strings.HasPrefix(name, "CGO_")) {
			env = append(env, kv)
		}
	}
	home, tmp := filepath.Join(scratch, "home"), filepath.Join(scratch, "tmp")
	env = append(env, "HOME="+home, "USERPROFILE="+home, "TMPDIR="+tmp, "TMP="+tmp, "TEMP="+tmp, "GOCACHE="+filepath.Join(scratch, "gocache"), "GOTOOLCHAIN=local", "GOTELEMETRY=off")
	if !network {
		env = append(env, "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off")
	}
	return append(env, settings...)
}
