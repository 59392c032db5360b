package rank

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// memory keeps what was counted for a test.
type memory map[string][]byte

func (m memory) Load(name string) []byte       { return m[name] }
func (m memory) Save(name string, data []byte) { m[name] = data }

// texts are functions whose words are those of the questions, their groups and others.
func texts(n int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields(`border drawBorder tableRow eat ate eaten print printed show HTTPServer max_width cfg config
		paint color delete erased "%*d" "%-5.2f" "%q" 12 x rewritten running closes Ränder größe parseHTTPRequest line`)
	var out []string
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "func f%d() {\n", i)
		for range 3 + r.IntN(120) {
			b.WriteString("\t" + words[r.IntN(len(words))] + " " + words[min(r.IntN(len(words)), r.IntN(len(words)))] + "\n")
		}
		b.WriteString("}\n")
		out = append(out, b.String())
	}
	return out
}

// TestCounted: what is kept of a module says of every question what reading the module says.
func TestCounted(t *testing.T) {
	module := texts(300)
	for _, question := range []string{
		"which function draws the border?", "who eats what was shown", "print the table's row in color", "delete and erase: parseHTTPRequest rewrites",
		"how is the width padded", "größe", "HTTPServer maxWidth of the config", "", "zzz",
	} {
		a := ask(Question{Text: question, Test: "TestPaint/closes_it"}, &Default)
		read, once, again := newRarity(a), newRarity(a), newRarity(a)
		background(a, []Texts{{Functions: slices.Values(module)}}, nil, &Default, read)
		kept := memory{}
		of := []Texts{{ID: "one", Functions: slices.Values(module[:100])}, {ID: "two", Functions: slices.Values(module[100:])}}
		background(a, of, kept, &Default, once)
		if len(kept) != 2 {
			t.Fatalf("%d modules are kept, want 2", len(kept))
		}
		for i := range of {
			of[i].Functions = func(func(string) bool) { t.Error("a module is read that was counted") }
		}
		background(a, of, kept, &Default, again)
		for _, r := range []*rarity{once, again} {
			if r.functions != read.functions || r.windows != read.windows || r.length != read.length || !slices.Equal(r.with, read.with) {
				t.Errorf("%q: counted %v of %v functions, %v windows, %v words; read %v of %v, %v, %v (terms %q)", question,
					r.with, r.functions, r.windows, r.length, read.with, read.functions, read.windows, read.length, a.terms)
			}
		}
	}
}

// TestCountedIsDamaged: what is not whole is counted again, and what is another weights' is
// not used.
func TestCountedIsDamaged(t *testing.T) {
	module := texts(20)
	whole := count(slices.Values(module), &Default).encode()
	if again := count(slices.Values(module), &Default).encode(); !bytes.Equal(whole, again) {
		t.Error("what is counted twice differs")
	}
	for i := 0; i < len(whole); i += 7 {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if _, err := decodeCounted(bad); err == nil {
			t.Errorf("byte %d is changed, and it is used", i)
		}
		if _, err := decodeCounted(whole[:i]); err == nil {
			t.Errorf("%d of %d bytes are used", i, len(whole))
		}
	}
	a := ask(Question{Text: "border"}, &Default)
	m := Texts{ID: "x", Functions: slices.Values(module)}
	kept := memory{m.name(&Default): []byte("damaged")}
	r := newRarity(a)
	background(a, []Texts{m}, kept, &Default, r)
	if r.functions != 20 || !bytes.Equal(kept[m.name(&Default)], whole) {
		t.Errorf("with damage %v functions are counted", r.functions)
	}
	other := Default
	other.Window = 10
	if names := slices.Collect(maps.Keys(kept)); m.name(&other) == names[0] {
		t.Error("windows of another size have the same name")
	}
}

func FuzzDecodeCounted(f *testing.F) {
	whole := count(slices.Values(texts(3)), &Default).encode()
	f.Add(whole[len(countedMagic)+sha256.Size:])
	a := ask(Question{Text: "which function prints the border?"}, &Default)
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		c, err := decodeCounted(bytes.Join([][]byte{[]byte(countedMagic), sum[:], body}, nil))
		if err == nil {
			c.add(a, newRarity(a))
		}
	})
}
