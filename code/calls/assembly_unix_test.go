//go:build unix

package calls_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/code/calls"
)

// TestAssembly has a vendored package whose assembly includes something. What is no header of its directory is not assembled: who
// opens a named pipe, or a device as /dev/ptmx, waits for ever.
func TestAssembly(t *testing.T) {
	const refused = "so it is not assembled"
	for name, c := range map[string]struct{ text, header, want string }{
		"of the toolchain":    {"#include \"textflag.h\"\nTEXT ·G(SB),NOSPLIT,$0\n\tRET\n", "", ""},
		"a header":            {"#include \"x.h\" // does not include \"PIPE\"\nTEXT ·G(SB),ZERO,$0\n\tRET\n", "#define ZERO 0\n", ""},
		"a pipe":              {"#include \"PIPE\"\n", "", refused},
		"written otherwise":   {"/* */ # /* a \" */ include \"\\x2e/../../../../PIPE\"\n", "", refused},
		"in a macro":          {"#define M \\\n#include \"PIPE\"\nM\n", "", refused},
		"by a header":         {"#include \"x.h\"\n", "#include \"PIPE\"\n", refused},
		"another file":        {"#include \"x.txt\"\n", "", refused},
		"a link for a header": {"#include \"x.h\"\n", "LINK", refused},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			dep := filepath.Join(root, "vendor", "example.com", "dep")
			write(t, filepath.Join(root, "go.mod"), "module example.com/m\n\ngo 1.24\n\nrequire (\n\texample.com/dep v1.0.0\n\texample.com/over v1.0.0\n)\n")
			write(t, filepath.Join(root, "vendor", "modules.txt"), "# example.com/dep v1.0.0\n## explicit; go 1.24\nexample.com/dep\n# example.com/over v1.0.0\n## explicit; go 1.24\nexample.com/over\n")
			write(t, filepath.Join(root, "m.go"), "package m\n\nimport \"example.com/over\"\n\nfunc F() { over.H() }\n")
			write(t, filepath.Join(root, "beside", "b.go"), "package beside\n\nfunc F() { g() }\n\nfunc g() {}\n")
			write(t, filepath.Join(root, "vendor", "example.com", "over", "over.go"), "package over\n\nimport \"example.com/dep\"\n\nfunc H() { dep.G() }\n")
			write(t, filepath.Join(dep, "dep.go"), "package dep\n\nfunc G()\n")
			write(t, filepath.Join(dep, "dep.s"), strings.ReplaceAll(c.text, "PIPE", pipe))
			write(t, filepath.Join(dep, "x.txt"), "")
			if c.header == "LINK" {
				if err := os.Symlink("x.txt", filepath.Join(dep, "x.h")); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, filepath.Join(dep, "x.h"), strings.ReplaceAll(c.header, "PIPE", pipe))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			g, err := calls.Load(ctx, calls.Config{Dir: root, Env: environment()})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("it waits")
			}
			if err != nil {
				t.Fatal(err)
			}
			var gaps strings.Builder
			for _, gap := range g.AllGaps() {
				gaps.WriteString(gap.String() + "\n")
			}
			if !strings.Contains(gaps.String(), c.want) || c.want == "" && gaps.Len() > 0 {
				t.Errorf("the gaps\n%s\nwant %q", gaps.String(), c.want)
			}
			if n := len(g.Edges()); n == 0 {
				t.Error("the calls beside it are not known")
			}
		})
	}
}
