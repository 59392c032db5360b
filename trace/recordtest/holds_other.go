//go:build !(linux && amd64)

package recordtest

// Recordable reports whether one process may hold another one here, as the probe does.
func Recordable() bool { return false }
