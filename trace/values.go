package trace

import (
	"errors"
	"fmt"
	"iter"
	"unicode"
	"unicode/utf8"
)

// Activation is one observed call of a node: what the function was given, and
// what it returned. A trace has them for the first calls of some nodes, or for
// none: they are seen by another run than the one that counted the calls.
type Activation struct {
	Node     NodeID
	Args     []Value // in the order of the declaration, a receiver first
	Results  []Value // nil unless Returned
	Returned bool    // it was seen to return; if not, it panicked, was running at the end, or was left
}

// MaxActivations is how many activations of one node a trace may have.
const MaxActivations = 16

// Value is an argument or a result as text.
//
// Text is one line of Go's notation for values with the types left out, and
// equal values have equal texts: it holds no addresses, a map's entries
// are in order. What is left out is written "...".
type Value struct {
	Name   string `json:"name,omitempty"`   // "" for a result without a name
	Type   string `json:"type,omitempty"`   // as in Go, by package names: "*http.Request"
	Text   string `json:"text,omitempty"`   // `"left"`, `&{Name: "Ann", Age: 61}`; "" if Unread says why
	Cut    bool   `json:"cut,omitempty"`    // Text is not the whole value
	Unread string `json:"unread,omitempty"` // why Text is empty: "not readable"
}

// maxValueText bounds each string of a value in a file: a reader need not trust
// that a writer cut them.
const maxValueText = 4096

// EachValue yields all observed values, for a caller that reads or changes their
// texts.
func (t *Trace) EachValue() iter.Seq[*Value] {
	return func(yield func(*Value) bool) {
		for i := range t.Activations {
			for _, list := range [][]Value{t.Activations[i].Args, t.Activations[i].Results} {
				for j := range list {
					if !yield(&list[j]) {
						return
					}
				}
			}
		}
	}
}

func (t *Trace) checkValues() error {
	of := 0 // activations of the node at hand
	for i := range t.Activations {
		a := &t.Activations[i]
		if i > 0 && a.Node != t.Activations[i-1].Node {
			of = 0
		}
		of++
		switch {
		case a.Node < 0 || int(a.Node) >= len(t.Nodes):
			return fmt.Errorf("values: no node %d", a.Node)
		case i > 0 && a.Node < t.Activations[i-1].Node:
			return fmt.Errorf("values: node %d after node %d", a.Node, t.Activations[i-1].Node)
		case of > MaxActivations:
			return fmt.Errorf("values: node %d has more than %d activations", a.Node, MaxActivations)
		case !a.Returned && len(a.Results) > 0:
			return fmt.Errorf("values: node %d has results, but did not return", a.Node)
		}
	}
	for v := range t.EachValue() {
		if err := v.check(); err != nil {
			return fmt.Errorf("values: %q: %w", v.Name, err)
		}
	}
	return nil
}

func (v *Value) check() error {
	if (v.Text == "") == (v.Unread == "") {
		return errors.New("it has neither a text nor a reason for having none, or both")
	}
	for _, s := range []string{v.Name, v.Type, v.Text, v.Unread} {
		if len(s) > maxValueText {
			return fmt.Errorf("%d bytes, %d are allowed", len(s), maxValueText)
		}
		if !utf8.ValidString(s) {
			return errors.New("it is not UTF-8")
		}
		for _, r := range s {
			if !unicode.IsPrint(r) {
				return fmt.Errorf("it has the unprintable character %U", r)
			}
		}
	}
	return nil
}
