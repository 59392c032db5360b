package prompt

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/prompt/tokens"
	"tracerag/source"
	"tracerag/trace"
)

// large is a program of n functions of ten lines, each called twice. Programs
// of different seeds have no function in common.
func large(n, seed int) Input {
	root := &calltree.Node{ID: 1, Func: &trace.Function{Name: "main.main"}, Calls: 1, Root: trace.RootMain}
	tree := &calltree.Tree{Roots: []*calltree.Node{root}, Size: 1 + 2*n}
	texts := map[string]source.Text{}
	for i := range n {
		f := &trace.Function{Name: fmt.Sprintf("example.com/m/pkg%d.Function%d", i%100, i), StartLine: 10 * i}
		texts[f.Name] = source.Text{
			Display: fmt.Sprintf("pkg%d/file.go", i%100), Start: 10 * i, End: 10*i + 9, DocStart: 10 * i,
			Signature: fmt.Sprintf("func Function%d(in []string) (out []string, err error)", i),
			Body: fmt.Sprintf("func Function%d(in []string) (out []string, err error) {\n", i) +
				strings.Repeat(fmt.Sprintf("\tif in[%d] == \"\" {\n\t\treturn nil, fmt.Errorf(\"no value %%d\", %d)\n\t}\n", i, seed), 3) + "}",
		}
		for range 2 {
			root.Children = append(root.Children, &calltree.Node{Func: f, Parent: root, Calls: int64(i)})
		}
	}
	return Input{
		Question: "Why?",
		Runs:     []Run{{Tree: tree}},
		Source:   func(f trace.Function) source.Text { return texts[f.Name] },
	}
}

// BenchmarkBuild is a prompt of 20,000 functions: new, when nearly all of the
// time goes into counting 2.8 million tokens, and again, as when only the
// question is another.
func BenchmarkBuild(b *testing.B) {
	tokens.For("").Count("load the vocabulary")
	run := func(b *testing.B, in Input, v Variant) {
		p, err := Build(in, Options{Variant: v, Model: "gpt-4o"})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Total), "tokens")
	}
	seed := 0
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			seed++
			in := large(20_000, seed)
			b.StartTimer()
			run(b, in, Ordered)
		}
	})
	in := large(20_000, 0)
	for _, v := range []Variant{Ordered, Full} {
		b.Run("again/"+string(v), func(b *testing.B) {
			run(b, in, v)
			for b.Loop() {
				run(b, in, v)
			}
		})
	}
}

func BenchmarkCheckCitations(b *testing.B) {
	p, err := Build(large(5_000, 0), Options{})
	if err != nil {
		b.Fatal(err)
	}
	answer := strings.Repeat("It is `pkg1.Function1` at pkg1/file.go:12 and `(*T).Nothing()`.\n\n", 50)
	for b.Loop() {
		CheckCitations(answer, p.Text)
	}
}

// BenchmarkBudget fits programs of up to 20,000 functions that were not counted
// yet into 8,000 tokens: the time is that of a command's first prompt.
func BenchmarkBudget(b *testing.B) {
	tokens.For("").Count("load the vocabulary")
	seed := 1 << 20
	for _, n := range []int{1_000, 5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				seed++
				in := large(n, seed)
				b.StartTimer()
				if _, err := Build(in, Options{Budget: 8_000}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
