package index

import (
	"bytes"
	"cmp"
	"go/build"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// missing returns the modules of a go.sum that are not on this machine, a line each. Without them the
// calls of what imports them are not known, and "go mod download" changes no file of the repository.
func missing(sum []byte) []byte {
	cache := moduleCache()
	var out []byte
	for line := range bytes.Lines(sum) {
		f := strings.Fields(string(line))
		if len(f) != 3 || strings.HasSuffix(f[1], "/go.mod") {
			continue
		}
		path, err := module.EscapePath(f[0])
		version, err2 := module.EscapeVersion(f[1])
		if err != nil || err2 != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version)); err != nil {
			out = append(out, line...)
		}
	}
	return out
}

// moduleCache is the directory in which the go command keeps modules.
func moduleCache() string {
	list := filepath.SplitList(build.Default.GOPATH)
	return cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(append(append([]string{}, list[:min(1, len(list))]...), "pkg", "mod")...))
}
