package phrase

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func ExampleNumber() {
	fmt.Println(Number(87950), Number(-1234567), Number(int64(999)))
	// Output: 87,950 -1,234,567 999
}

func ExamplePlural() {
	fmt.Println(Plural(1, "call", "calls"), "of", Plural(2000, "function", "functions"))
	// Output: 1 call of 2,000 functions
}

func ExampleDuration() {
	fmt.Println(Duration(12_345*time.Microsecond), Duration(98_765*time.Millisecond))
	// Output: 12ms 1m38.77s
}

func ExampleQuote() {
	fmt.Println(Quote("--csv=data.csv"), Quote("two words"), Quote("it's"), Quote(""))
	// Output: --csv=data.csv 'two words' 'it'\''s' ''
}

// TestDistance has a swap of neighbours as one mistake, since that is what fingers do.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"tree", "tree", 0}, {"", "run", 3}, {"tere", "tree", 1}, {"tre", "tree", 1}, {"trees", "tree", 1}, {"true", "tree", 1}, {"view", "list", 3}} {
		if got := Distance(c.a, c.b); got != c.want || Distance(c.b, c.a) != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// FuzzCommandLine: what is written is read back, word by word.
func FuzzCommandLine(f *testing.F) {
	f.Add("--csv", "it's \"here\"\n")
	f.Add("", `a\b`)
	f.Fuzz(func(t *testing.T, a, b string) {
		line := CommandLine([]string{a, b})
		if got, err := Split(line); err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q, %q: %s, %q, %v", a, b, line, got, err)
		}
	})
}
