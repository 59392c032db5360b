package locate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
	"tracerag/locate"
)

// BenchmarkLocate asks about a repository of 100,000 functions, in an SQLite store.
func BenchmarkLocate(b *testing.B) {
	const files, functions = 1000, 100
	// Words are as rare as they are in programs: few are in most functions, most in few.
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.2, 20, 20_000)
	words := strings.Fields("value name error table border parser token cache buffer index query socket header column render encode decode merge split lookup")
	word := func() string {
		n := int(zipf.Uint64())
		return words[n%len(words)] + strings.Repeat(words[n/len(words)%len(words)], min(1, n/len(words))) + strings.Repeat("x", n/400)
	}
	root := b.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	write("go.mod", "module example.com/big\n")
	for i := range files {
		var t strings.Builder
		fmt.Fprintf(&t, "package p%d\n", i/10)
		for j := range functions {
			name := word() + strings.ToUpper(word()) + fmt.Sprint(i, "x", j)
			fmt.Fprintf(&t, "\n// %s does the %s of a %s.\nfunc %s(%s int) {\n", name, word(), word(), name, word())
			for range 8 {
				fmt.Fprintf(&t, "\t%s(%s, %q)\n", word(), word(), word()+" "+word())
			}
			t.WriteString("}\n")
		}
		write(fmt.Sprintf("p%d/f%d.go", i/10, i), t.String())
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "k.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := index.Update(ctx, s, root, index.Options{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := locate.Locate(ctx, s, locate.Question{Text: "table: the border of a rendered column is lost\n\nAfter a merge the header cache, parseToken and the buffer are wrong."}, locate.Options{})
		if err != nil || len(a.Functions) == 0 {
			b.Fatal(a, err)
		}
	}
}
