//go:build !unix

package index_test

import "testing"

func runTests(m *testing.M) int { return m.Run() }
