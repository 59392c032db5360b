package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestEnforcedUnfiltered: where system calls are not filtered, nothing is said of a filter, and what it would refuse
// is named as not covered.
func TestEnforcedUnfiltered(t *testing.T) {
	network := func(v int, filter bool) Enforced {
		list := enforcedBy(landlock, v, filter)
		return list[slices.IndexFunc(list, func(e Enforced) bool { return e.Limit == "network" })]
	}
	if e := network(landlockSignals, false); strings.Contains(e.By, "filter") || strings.Contains(e.By, "UDP") || !strings.Contains(e.Lacks, "UDP") || e.Holds {
		t.Errorf("%+v", e)
	}
	if e := network(landlockSignals, true); !strings.Contains(e.By, "filter of system calls") || strings.Contains(e.Lacks, "UDP") {
		t.Errorf("%+v", e)
	}
	if e := network(landlockFiles, false); e.By != "" {
		t.Errorf("%+v", e)
	}
}
