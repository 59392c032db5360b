//go:build linux || windows

package breakpoint

import (
	"os"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"

	"tracerag/trace/target"
)

// launch starts the target, stopped before its first instruction.
func launch(t *target.Target) (*proc.TargetGroup, error) {
	var out, err proc.OutputRedirect
	if t.Silent {
		null := proc.OutputRedirect{Path: os.DevNull}
		return native.Launch(argv(t), t.Dir, 0, nil, "", os.DevNull, null, null)
	}
	if t.Binary.Stripped {
		// delve warns on standard error that values and stacks need DWARF. We
		// need neither, and the program's standard error is its own.
		defer hushStderr(&err)()
	}
	// With LaunchForeground the target gets our standard input, and the
	// terminal when that is one.
	return native.Launch(argv(t), t.Dir, proc.LaunchForeground, nil, "", "", out, err)
}

// argv is the command as typed. Only a program that was found in PATH must be
// named by its path: delve opens the name.
func argv(t *target.Target) []string {
	args := append([]string(nil), t.Args...)
	if !isPath(args[0]) {
		args[0] = t.Path
	}
	return args
}

func isPath(name string) bool {
	for i := range len(name) {
		if os.IsPathSeparator(name[i]) {
			return true
		}
	}
	return false
}

// hushStderr points os.Stderr elsewhere while delve loads the binary, and gives
// the target a copy of the real one.
func hushStderr(r *proc.OutputRedirect) (restore func()) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	real, err := duplicate(os.Stderr)
	if err != nil {
		null.Close()
		return func() {}
	}
	r.File = real // closed by delve when the target has started
	stderr := os.Stderr
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		null.Close()
	}
}
