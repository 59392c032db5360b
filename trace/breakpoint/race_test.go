package breakpoint

import (
	"os/exec"
	"strings"
	"testing"
)

// needRace skips a test where programs cannot be built with the race detector.
func needRace(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || enabled != "1" || cc == "" {
		t.Skip("the race detector needs cgo")
	}
	if _, err := exec.LookPath(strings.Fields(cc)[0]); err != nil {
		t.Skip("the race detector needs a C compiler")
	}
}
