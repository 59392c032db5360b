package mcp

import (
	"sync"
	"testing"

	"tracerag/calltree"
)

// BenchmarkCallTree answers about a tree of 50,000 nodes: the overview, and a part.
func BenchmarkCallTree(b *testing.B) {
	tr := bigTrace(50_000)
	tree := sync.OnceValue(func() *calltree.Tree {
		tree, err := calltree.Build(tr, calltree.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return tree
	})
	c := client(b, Options{Backend: &fake{traces: []*fakeTrace{{id: "b1b1b1b1", command: "./big", trace: tr, tree: tree}}}})
	for name, in := range map[string]args{
		"overview": {},
		"node":     {"focus": "#25000"},
		"pattern":  {"focus": "*function4999*", "max_tokens": 8000},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if text, failed, _ := ask(b, c, "call_tree", in); failed {
					b.Fatal(text)
				}
			}
		})
	}
}
