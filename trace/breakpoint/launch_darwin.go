package breakpoint

import (
	"fmt"
	"os"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/gdbserial"
	"golang.org/x/sys/unix"

	"tracerag/trace/executable"
	"tracerag/trace/target"
)

func supported(f *executable.File) error {
	if f.GOOS != "darwin" || f.GOARCH != hostArch {
		return fmt.Errorf("%s is a program for %s/%s: build it for darwin/%s to run it here", f.Path, f.GOOS, f.GOARCH, hostArch)
	}
	return nil
}

// launch starts the target under the system's debugserver: macOS lets no other
// process control one without a signature.
func launch(t *target.Target) (*proc.TargetGroup, error) {
	args := append([]string{t.Path}, t.Args[1:]...)
	if t.Silent {
		return gdbserial.LLDBLaunch(args, t.Dir, 0, nil, "", [3]string{os.DevNull, os.DevNull, os.DevNull})
	}
	if t.Output != nil {
		return gdbserial.LLDBLaunch(args, t.Dir, 0, nil, "", [3]string{os.DevNull, t.Output.Name(), t.Output.Name()})
	}
	return gdbserial.LLDBLaunch(args, t.Dir, proc.LaunchForeground, nil, "", [3]string{})
}

func signalName(n int) string {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}
