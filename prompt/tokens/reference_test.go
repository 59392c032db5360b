package tokens

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// whole is the reference's count of a text in one go.
func whole(v *vocabulary, s string) int { return len(reference(v.name).EncodeOrdinary(s)) }

var references sync.Map

// reference is tiktoken-go's tokenizer.
func reference(name string) *tiktoken.Tiktoken {
	load, _ := references.LoadOrStore(name, sync.OnceValue(func() *tiktoken.Tiktoken {
		loading.Lock()
		defer loading.Unlock()
		// Without this the vocabulary would be downloaded.
		tiktoken.SetBpeLoader(loader.NewOfflineLoader())
		t, err := tiktoken.GetEncoding(name)
		if err != nil {
			panic(err)
		}
		return t
	}))
	return load.(func() *tiktoken.Tiktoken)()
}

// loading serialises the loads: tiktoken-go keeps its loader in a global.
var loading sync.Mutex

// TestCountsAreTiktokens compares counts with tiktoken-go's: of this repository's sources
// and documents, and of random texts of characters that the vocabularies tell apart.
func TestCountsAreTiktokens(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"*.go", "*.txt", "../*.go", "../testdata/*", "../../docs/*.md", "../../redact/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.IsDir() || info.Size() > 1<<15 {
				continue
			}
			texts[name] = goFile(t, name)
		}
	}
	for _, v := range vocabularies {
		for name, text := range texts {
			if got, want := v.count(text), whole(v, text); got != want && longestRun(text) < maxRun {
				t.Errorf("%s: %s has %d tokens, tiktoken counts %d", v.name, name, got, want)
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			text := randomText(random)
			if got, want := v.count(text), whole(v, text); got != want {
				t.Fatalf("%s: %q has %d tokens, tiktoken counts %d", v.name, text, got, want)
			}
			if got, want := v.Count(text), whole(v, text); got != want {
				t.Fatalf("%s: parts of %q sum to %d tokens, tiktoken counts %d", v.name, text, got, want)
			}
		}
	}
}

// TestLongPieces compares counts of pieces that are merged by a heap with tiktoken-go's: runs
// of a character, and letters without a gap.
func TestLongPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var texts []string
	for _, s := range []string{"a", "A", "=", " ", "-", "ab", "漢", "é", "\n"} {
		for _, n := range []int{shortPiece, shortPiece + 1, 300, 700} {
			texts = append(texts, strings.Repeat(s, n))
		}
	}
	for _, alphabet := range []string{"ab", "the rank", "abcdefghijklmnopqrstuvwxyz", "!=-*/<>", "ABCDEFabcdef"} {
		for range 20 {
			b := make([]byte, shortPiece+random.IntN(600))
			for i := range b {
				b[i] = alphabet[random.IntN(len(alphabet))]
			}
			texts = append(texts, string(b))
		}
	}
	for _, v := range vocabularies {
		for _, text := range texts {
			if got, want := v.count(text), whole(v, text); got != want {
				t.Errorf("%s: %.40q... of %d bytes has %d tokens, tiktoken counts %d", v.name, text, len(text), got, want)
			}
		}
	}
}

// What no person wrote takes time in proportion to its length, as source does: 16 times the text
// takes some 16 times the time, and 256 if a piece is merged pair by pair.
func TestNothingIsSlowToCount(t *testing.T) {
	least := func(text string) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			vocabularies[o200kBase].Count(text)
			best = min(best, time.Since(start))
		}
		return best
	}
	for _, text := range []string{"a", "=", " ", "Zm9v"} {
		small, large := least(strings.Repeat(text, 1<<16/len(text))), least(strings.Repeat(text, 1<<20/len(text)))
		if large > 100*small {
			t.Errorf("%.10q...: %v for 64 KiB, %v for a megabyte", text, small, large)
		}
	}
}

// longestRun is that of characters that are not white space.
func longestRun(s string) (n int) {
	for _, f := range strings.Fields(s) {
		n = max(n, len(f))
	}
	return n
}

// chars have all classes: cases, letters without a case, marks, numbers, spaces, symbols,
// and what looks like a letter of a contraction or is not UTF-8.
var chars = []string{
	"a", "b", "s", "t", "e", "re", "The", "A", "B", "S", "LL", "é", "É", "ß", "ǅ", "ʰ", "漢", "字", "ª", "א",
	"\u0301", "\u0903", "0", "1", "22", "٣", "½", "Ⅷ", " ", " ", "  ", "\t", "\n", "\r", "\r\n", "\v", "\u00a0", "\u0085", "\u2028", "\u3000",
	"'", "'", "'s", "'S", "'re", "'Ll", "'ſ", "'\u212a", "/", "//", ".", "(", "_", "=", "==", "🙂", "\u200d", "\ufffd", "\xff", "\xe6\xbc", "\x00", "\u200b",
}

func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(12) {
		b.WriteString(chars[random.IntN(len(chars))])
	}
	return b.String()
}

// FuzzCount compares the counts of any text with tiktoken-go's.
func FuzzCount(f *testing.F) {
	f.Add("a +\n//\nb's\n'S\nx\n\n\t y\n")
	f.Add("\n/\n\r/\n_\n\u00a0\n")
	f.Add("HTTPServer's ǅa \u0301b\u0301C 1234½\xff\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > maxRun {
			return
		}
		for _, v := range vocabularies {
			want := whole(v, s)
			if got := v.count(s); got != want {
				t.Errorf("%s: %q has %d tokens, tiktoken counts %d", v.name, s, got, want)
			}
			if got := v.Count(s); got != want {
				t.Errorf("%s: parts of %q sum to %d tokens, tiktoken counts %d", v.name, s, got, want)
			}
		}
	})
}

// TestTablesAreWhole compares the tables with those of tiktoken's loader.
func TestTablesAreWhole(t *testing.T) {
	for name, v := range vocabularies {
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		have := v.load()
		if len(have.ends) != len(want) {
			t.Errorf("%s: %d tokens, want %d", name, len(have.ends), len(want))
		}
		for token, rank := range want {
			if got := have.rank([]byte(token)); got != uint32(rank) {
				t.Fatalf("%s: token %q has rank %d, want %d", name, token, got, rank)
			}
		}
	}
}
