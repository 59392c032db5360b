package trial

import (
	"slices"
	"testing"
)

// TestProgramsGetNoKeys: what an experiment's file has run is not told the
// keys of the models.
func TestProgramsGetNoKeys(t *testing.T) {
	got := withoutKeys([]string{"PATH=/bin", "OPENAI_API_KEY=x", "A=OPENAI_API_KEY", "ANTHROPIC_API_KEY=", "TRACERAG_API_KEY_FILE=f", "TRACERAG_MODEL=m"})
	if want := []string{"PATH=/bin", "A=OPENAI_API_KEY", "TRACERAG_MODEL=m"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}
