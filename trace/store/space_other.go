//go:build !linux && !darwin

package store

// freeSpace is not known here: writing a file has to tell.
func freeSpace(string) (free uint64, known bool) { return 0, false }

func largestFile() (bytes uint64, known bool) { return 0, false }
