//go:build !linux

package breakpoint

func pin() (restore func(pid int), unpin func()) { return func(int) {}, func() {} }
