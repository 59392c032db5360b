//go:build !(linux && amd64)

package job

func recordable() bool { return false }
