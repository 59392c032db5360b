package prompt

import (
	"strings"
	"testing"
)

// Who has read some lines of a function can still read the rest.
func TestLinesAreNotAllOfAFunction(t *testing.T) {
	in, names := manyFunctions(1, 1, 100)
	in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
	s, err := NewRounds(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(names[0], "example.com/m/")
	s.First()
	s.Next([]Request{{Name: name, From: 20, To: 22}, {Name: name, From: 20, To: 30}})
	if p := s.Next([]Request{{Name: name}}); strings.Contains(p.Text, "shown already") || !strings.Contains(p.Text, "\n100 \tx = append") {
		t.Errorf("the function is not read:\n%s", p.Text)
	}
}

// unknownNames are as many requests as a reply may have, each with the longest name, of functions that nobody has.
func unknownNames() (requests []Request) {
	for range mostRequests {
		requests = append(requests, Request{Name: strings.Repeat("x", longestName)})
	}
	return requests
}

// A reply may have any number of lines, and names of any length. What it asks for too much is passed over with a word.
func TestNamesThatNobodyHas(t *testing.T) {
	r := manyReader(t)
	if p := r.Read(unknownNames(), 1000); len(p.Sources) > 0 || len(p.Notes) == 0 || !strings.Contains(p.Notes[0], "no function of that name ran") {
		t.Errorf("%+v", p)
	}
	if _, got, _ := ParseReply(longReply); len(got) != 1 {
		t.Errorf("a long reply has %d requests", len(got))
	}
}

var longReply = "READ\n" + strings.Repeat("a.B\n", 1<<19)

// manyReader reads in a run of 2,000 functions.
func manyReader(t testing.TB) *Reader {
	in, _ := manyFunctions(20, 100, 1)
	in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
	r, err := NewReader(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkNamesThatNobodyHas looks for names that are like no other, and reads a reply of half a million lines.
func BenchmarkNamesThatNobodyHas(b *testing.B) {
	r, requests := manyReader(b), unknownNames()
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			r.Read(requests, 1000)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			ParseReply(longReply)
		}
	})
}

// Of lines that are too many for one reading the first ones are shown, and not the
// signature, which would be all that any further request gets.
func TestTooManyLinesAreShownInPart(t *testing.T) {
	in, names := manyFunctions(1, 1, 5000)
	in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
	s, err := NewRounds(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.First()
	p := s.Next([]Request{{Name: strings.TrimPrefix(names[0], "example.com/m/"), From: 50, To: 9_000_000}})
	if !strings.Contains(p.Text, "\n50 \tx = append") || !strings.Contains(p.Text, "\n100 \tx = append") || strings.Contains(p.Text, "[signature only: lines 11") || p.Total > readTokens {
		t.Errorf("%d tokens:\n%.1500s", p.Total, p.Text)
	}
}
