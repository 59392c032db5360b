package breakpoint

import (
	"fmt"
	"os"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"
	"golang.org/x/sys/windows"

	"tracerag/trace/executable"
	"tracerag/trace/target"
)

func supported(f *executable.File) error {
	if f.GOOS != "windows" || f.GOARCH != hostArch {
		return fmt.Errorf("%s is a program for %s/%s: build it for windows/%s to run it here", f.Path, f.GOOS, f.GOARCH, hostArch)
	}
	return nil
}

// launch starts the target, stopped before its first instruction.
func launch(t *target.Target) (*proc.TargetGroup, error) {
	// delve opens the program by its first argument.
	args := append([]string{t.Path}, t.Args[1:]...)
	if t.Silent {
		null := proc.OutputRedirect{Path: os.DevNull}
		return native.Launch(args, t.Dir, 0, nil, "", os.DevNull, null, null)
	}
	var out, err proc.OutputRedirect
	if t.Binary.Stripped {
		defer hushStderr(&err)()
	}
	if t.Output != nil {
		// delve closes what it is given.
		if err.File != nil {
			err.File.Close()
		}
		var failed error
		if out.File, failed = duplicate(t.Output); failed != nil {
			return nil, failed
		}
		if err.File, failed = duplicate(t.Output); failed != nil {
			out.File.Close()
			return nil, failed
		}
	}
	// With LaunchForeground the target gets our standard input.
	return native.Launch(args, t.Dir, proc.LaunchForeground, nil, "", "", out, err)
}

// hushStderr points os.Stderr elsewhere while delve loads the binary, and gives
// the target a copy of the real one: delve warns there that values and stacks
// need DWARF when a binary has none, and we need neither.
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

func duplicate(f *os.File) (*os.File, error) {
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), f.Name()), nil
}

func signalName(n int) string { return fmt.Sprintf("signal %d", n) }
