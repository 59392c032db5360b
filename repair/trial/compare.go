package trial

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/phrase"
)

// against holds what a package's tests did against what they did before the change.
//
//   - What passed each time passes. A subtest that is gone is a failure only if its test has
//     fewer of them than before: its name may be made of what changed.
//   - What was skipped is skipped or passes.
//   - What failed may fail or be skipped, but is still there.
//   - What was not there passes or is skipped.
//   - The program comes through its tests if it did before, and exits as before.
//
// tops are the functions that were run; nil is all.
func (pb *PackageBaseline) against(of string, r result, tops []string) (failures []Failure, reason string) {
	if !r.Built {
		if pb != nil && pb.Errors != "" && len(pb.Without) == 0 {
			return nil, ""
		}
		return []Failure{{Package: of, Output: block(r.Errors, "")}}, fmt.Sprintf("the tests of %s do not compile", of)
	}
	if pb == nil {
		pb = &PackageBaseline{Whole: true}
	}
	if !r.Whole && pb.Whole {
		var missing []string
		for name, was := range pb.Outcomes {
			if r.Outcomes[name] == "" && was == Passed && name == function(name) && (tops == nil || slices.Contains(tops, name)) {
				missing = append(missing, name)
			}
		}
		slices.Sort(missing)
		if tops == nil || len(missing) > 0 || !r.Began {
			reason = fmt.Sprintf("the test program of %s %s", of, r.ended())
			for _, name := range missing[:min(len(missing), maxFailures)] {
				failures = append(failures, Failure{Package: of, Test: name, Was: Passed, Is: Absent})
			}
			failures = append(failures, Failure{Package: of, Output: block(r.output, "")})
			return failures, reason
		}
	}
	flaky := map[string]bool{}
	for _, f := range pb.Flaky {
		flaky[f] = true
	}
	before, after := children(pb.Outcomes, flaky), children(r.Outcomes, flaky)
	add := func(name string, was, is Outcome) {
		f := Failure{Package: of, Test: name, Was: was, Is: is}
		if is == Failed || is == Crashed {
			f.Output = block(r.output, name)
		}
		failures = append(failures, f)
	}
	for _, name := range sortedKeys(pb.Outcomes) {
		was := pb.Outcomes[name]
		if flaky[name] || tops != nil && !slices.Contains(tops, function(name)) {
			continue
		}
		is, ok := r.Outcomes[name]
		switch {
		case ok && (was == Passed && is != Passed || was == Skipped && is != Passed && is != Skipped):
			add(name, was, is)
		case ok:
		case name == function(name):
			if r.Whole || was == Passed {
				add(name, was, Absent)
			}
		case was == Passed && after[parent(name)] < before[parent(name)] && r.Outcomes[function(name)] == Passed:
			add(name, was, Absent)
		}
	}
	for _, name := range sortedKeys(r.Outcomes) {
		if is := r.Outcomes[name]; pb.Outcomes[name] == "" && !flaky[name] && (is == Failed || is == Crashed) {
			if was := pb.Outcomes[function(name)]; name != function(name) && (was == Failed || was == Crashed) {
				continue // its test failed before and may fail
			}
			if name != function(name) && flaky[function(name)] {
				continue
			}
			add(name, "", is)
		}
	}
	failures = leaves(failures)
	if len(failures) > 0 {
		return failures, reasonOf(failures)
	}
	if r.Whole && r.Code != 0 && pb.Code == 0 && tops == nil && !anyFailed(r.Outcomes) {
		return []Failure{{Package: of, Output: block(r.output, "")}}, fmt.Sprintf("the test program of %s exits with code %d though no test fails", of, r.Code)
	}
	return nil, ""
}

func anyFailed(outcomes map[string]Outcome) bool {
	for _, is := range outcomes {
		if is == Failed || is == Crashed {
			return true
		}
	}
	return false
}

func parent(name string) string {
	if i := strings.LastIndex(name, "/"); i >= 0 {
		return name[:i]
	}
	return name
}

// children counts the subtests of each test.
func children(outcomes map[string]Outcome, flaky map[string]bool) map[string]int {
	n := map[string]int{}
	for name := range outcomes {
		if name != function(name) && !flaky[name] {
			n[parent(name)]++
		}
	}
	return n
}

// leaves leaves out a test that fails by its subtests alone.
func leaves(failures []Failure) []Failure {
	return slices.DeleteFunc(failures, func(f Failure) bool {
		return slices.ContainsFunc(failures, func(g Failure) bool {
			return g.Package == f.Package && strings.HasPrefix(g.Test, f.Test+"/") && f.Is == Failed && g.Is != Absent
		})
	})
}

// reasonOf is a sentence on failing tests.
func reasonOf(failures []Failure) string {
	f := failures[0]
	name := TestID{f.Package, f.Test}.String()
	var s string
	switch {
	case f.Is == Absent:
		s = fmt.Sprintf("%s is gone: it %s before the change", name, did(f.Was))
	case f.Is == Skipped:
		s = fmt.Sprintf("%s is skipped: it %s before the change", name, did(f.Was))
	case f.Was == "" && f.Is == Crashed:
		s = fmt.Sprintf("%s ends the test program", name)
	case f.Was == "":
		s = fmt.Sprintf("%s fails", name)
	case f.Is == Crashed:
		s = fmt.Sprintf("%s ends the test program: it %s before the change", name, did(f.Was))
	default:
		s = fmt.Sprintf("%s fails: it %s before the change", name, did(f.Was))
	}
	if n := len(failures) - 1; n > 0 {
		s += fmt.Sprintf(", and so with %s", phrase.Plural(n, "other test", "other tests"))
	}
	return s
}

func did(o Outcome) string {
	switch o {
	case Skipped:
		return "was skipped"
	case Crashed:
		return "ended the test program"
	}
	return string(o)
}
