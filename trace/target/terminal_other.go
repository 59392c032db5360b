//go:build !unix

package target

import (
	"os"
	"os/signal"
)

// HandOver leaves the interrupt key to the target while it runs: the console
// sends it to every process of the group. The returned function undoes it.
func HandOver(int) (takeBack func()) {
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt)
	return func() { signal.Stop(sigs) }
}
