// Package repair has a model change code until tests say that it is right.
//
// A [Task] says what is wrong: a report, a test that fails, the run of that test, and the
// places that a change may be about, each with a plan. [Fixer.Fix] then goes the way of
// SuperCoder 2.0 (Gautam et al. 2024):
//
//  1. several candidates, at rising temperatures, each a set of whole declarations (ask.go);
//  2. a verdict on each by building and testing (package repair/trial);
//  3. if none is right, a second try for the best of them, with how it failed and where its run
//     parts from the run before (again.go);
//  4. a choice among those that are right: equal ones are votes, then the model chooses, then the
//     smaller one is taken (choose.go).
//
// How a model is asked, what a test may do and how runs are recorded is the callers' concern.
package repair

import (
	"strings"

	"tracerag/locate/guided"
	"tracerag/repair/patch"
)

// Task is what is to be repaired, and what is known of it.
type Task struct {
	Report string
	Test   Test
	Run    string // the recorded run of the test, as a prompt shows it; "" is none
	Places []Place
	Plan   string // of the whole; "" is none
	Dir    string // the tree
	// Also is part of each change: the test that was written from the report. It may be nil.
	Also *patch.Patch
}

// Test is a test that fails. The zero Test is none.
type Test struct {
	Package string `json:"package"` // import path
	Name    string `json:"name"`
	File    string `json:"file,omitempty"` // slash path in the tree
	Source  string `json:"-"`
	Output  string `json:"-"` // of its failure
	// Siblings are other tests of its file.
	Siblings []string `json:"-"`
}

// Place is where a change may go: a declaration, or a file to which something is added.
type Place struct {
	File string `json:"file"`           // slash path in the tree
	Name string `json:"name,omitempty"` // "F", "(*T).M", "" for what is added to the file
	Plan string `json:"plan,omitempty"`
}

// PlacesOf returns the places of an answer, the likeliest first: those that a strategy says have to be
// written or added, or else its first functions.
func PlacesOf(a *guided.Answer, most int) []Place {
	var places []Place
	seen := map[Place]bool{}
	add := func(file, name, plan string) {
		p := Place{File: file, Name: name}
		if !seen[p] && file != "" && len(places) < most {
			seen[p] = true
			p.Plan = plan
			places = append(places, p)
		}
	}
	for _, w := range a.Write {
		add(w.File, w.Name, w.Why)
	}
	if len(a.Write) == 0 {
		for _, f := range a.Functions {
			add(f.File, f.Name, "")
		}
	}
	for _, n := range a.New {
		if strings.HasSuffix(n.File, ".go") {
			add(n.File, "", n.Why)
		}
	}
	return places
}
