//go:build !(linux && amd64)

package affected

func recordable() bool { return false }
