//go:build !race

package patch

const sample = 1
