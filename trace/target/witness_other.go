//go:build unix && !linux

package target

import "syscall"

// withWitness calls f with a function that knows of no signal whom it was sent to.
func withWitness(ready chan<- struct{}, f func(toGroup func(syscall.Signal) (yes, known bool))) {
	close(ready)
	f(func(syscall.Signal) (yes, known bool) { return false, false })
}
