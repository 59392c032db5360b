package breakpoint

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"

	"tracerag/trace/binary"
)

func supported(f *binary.File) error {
	if f.GOOS != "windows" || f.GOARCH != hostArch {
		return fmt.Errorf("%s is a program for %s/%s: build it for windows/%s to run it here", f.Path, f.GOOS, f.GOARCH, hostArch)
	}
	return nil
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

func pin() (unpin func()) { return func() {} }

func restoreAffinity(int) {}
