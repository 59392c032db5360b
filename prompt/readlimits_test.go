package prompt

import (
	"strings"
	"testing"
	"time"
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

// Names that no function has cost little, however long they are and however many ran: a
// reply may have 40 of 300 bytes.
func TestNamesThatNobodyHas(t *testing.T) {
	in, _ := manyFunctions(20, 100, 1)
	in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
	r, err := NewReader(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var requests []Request
	for range mostRequests {
		requests = append(requests, Request{Name: strings.Repeat("x", longestName)})
	}
	start := time.Now()
	r.Read(requests, 1000)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	start = time.Now()
	if _, got, _ := ParseReply("READ\n" + strings.Repeat("a.B\n", 1<<19)); len(got) != 1 || time.Since(start) > time.Second {
		t.Errorf("a long reply: %d requests in %v", len(got), time.Since(start))
	}
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
