//go:build !unix

package target

import (
	"os"
	"os/signal"
	"syscall"
)

// HandOver leaves the console to the target while it runs. Ctrl-C, Ctrl-Break and the end of the console
// reach every process of the console or of the group, and so the target without our help: it decides what becomes of them. Here
// they are only not to end us before it: a closed console leaves us a few seconds to save the trace. The
// returned function undoes it.
func HandOver(int) (takeBack func()) {
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM) // by the second Go calls the end of the console
	return func() { signal.Stop(sigs) }
}
