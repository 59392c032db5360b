package main

import "tracerag/repair/patch"

// guard is what the guard says against a change.
func guard(p patch.Patch) string {
	if reasons := p.Weakens(); len(reasons) > 0 {
		return reasons[0].String()
	}
	return ""
}
