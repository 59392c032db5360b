package prompt

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracerag/calltree"
)

// TestTreeTextsAreKept tries some cuts again and again: each tree is as if it were the first,
// and some need not be made.
func TestTreeTextsAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, in := range []Input{inputCSV(t), inputTwo(t)} {
		m, err := collect(in)
		if err != nil {
			t.Fatal(err)
		}
		cuts := []*cut{nil}
		for range 4 * mostTrees {
			c := &cut{items: map[*item]*item{}, positions: r.IntN(2) == 0}
			for _, it := range m.union() {
				if r.IntN(2) == 0 {
					c.items[it] = it
				}
			}
			if r.IntN(2) == 0 {
				c.nodes = map[*calltree.Node]bool{}
				for n := range nodes(m.runs[0].tree) {
					if len(c.nodes) < 3 && r.IntN(2) == 0 {
						c.nodes[n] = true
					}
				}
			}
			cuts = append(cuts, c)
		}
		different, kept := map[string]bool{}, 0
		for range 300 {
			m.cut = cuts[r.IntN(len(cuts))]
			v := []Variant{Ordered, Full}[r.IntN(2)]
			for i := range m.runs {
				before := m.trees
				got := m.treeText(&m.runs[i], v)
				if as := m.treeForm(&m.runs[i], v); slices.ContainsFunc(before, as.equal) {
					kept++
				}
				trees := m.trees
				m.trees = nil
				if want := m.treeText(&m.runs[i], v); got != want {
					t.Fatalf("cut %+v: the tree of run %d is\n%swant\n%s", m.cut, i, got, want)
				}
				m.trees = trees
				different[got] = true
			}
		}
		if len(different) < 10 || kept < 10 || len(m.trees) != mostTrees {
			t.Errorf("%d different trees; %d were among the %d before", len(different), kept, len(m.trees))
		}
	}
}

// TestTreesAfterASecret: what is known to be secret since a tree was made is masked in it, too,
// also by a masker that does not say how many secrets it knows.
func TestTreesAfterASecret(t *testing.T) {
	const secret = "main"
	knows := &learning{secret: secret}
	for _, mask := range []Masker{knows, struct{ Masker }{knows}} {
		knows.known, knows.asked = false, 0
		in := withTypes(inputCSV(t))
		in.Mask = mask
		m, err := collect(in)
		if err != nil {
			t.Fatal(err)
		}
		m.treeText(&m.runs[0], Ordered)
		before := knows.asked
		if text := m.treeText(&m.runs[0], Ordered); !strings.Contains(text, secret) {
			t.Fatalf("%q is not in the tree:\n%s", secret, text)
		}
		if counts := m.secrets != nil; counts != (knows.asked == before) {
			t.Errorf("it counts secrets: %v, and was asked %d times", counts, knows.asked-before)
		}
		knows.known = true
		if text := m.treeText(&m.runs[0], Ordered); strings.Contains(text, secret) {
			t.Errorf("%q is in the tree:\n%s", secret, text)
		}
	}
}

// learning masks a secret from when it is known on.
type learning struct {
	secret string
	known  bool
	asked  int // for texts
}

func (l *learning) Learn(string) {}

func (l *learning) Text(text string) string {
	l.asked++
	if !l.known {
		return text
	}
	return strings.ReplaceAll(text, l.secret, "[REDACTED:test:1]")
}

func (l *learning) Secrets() int {
	if l.known {
		return 1
	}
	return 0
}
