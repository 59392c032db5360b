//go:build !linux

package memory

func largePages(int) {}
