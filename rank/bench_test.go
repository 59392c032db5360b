package rank

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// BenchmarkRank ranks runs of many functions, of the sizes that functions have
// (a median of some hundred bytes, a few of tens of thousands), for a report of
// a hundred words.
func BenchmarkRank(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		// as in programs, few words are most of the text
		return fmt.Sprintf("word%c%s", 'A'+rune(random.IntN(26)), strings.Repeat("x", int(random.ExpFloat64()*3)))
	}
	var fs []Function
	for i := range 20_000 {
		var text strings.Builder
		fmt.Fprintf(&text, "func f%d() {\n", i)
		for range 4 + int(random.ExpFloat64()*random.ExpFloat64()*20) {
			fmt.Fprintf(&text, "\t%s, %s := %s.%s(%s) // %s\n", word(), word(), word(), word(), word(), word())
		}
		text.WriteString("}\n")
		f := Function{Package: "example.com/p", Name: fmt.Sprintf("f%d", i), Text: text.String()}
		for range 3 {
			f.Callees = append(f.Callees, random.IntN(i+1))
		}
		fs = append(fs, f)
	}
	var report strings.Builder
	for range 100 {
		report.WriteString(word() + " ")
	}
	for _, n := range []int{1_000, 5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for _, f := range fs[:n] {
				size += len(f.Text)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				Rank(Question{Text: report.String()}, Corpus{Functions: fs[:n], Background: slices.Values(fs[:n])}, Default)
			}
		})
	}
}
