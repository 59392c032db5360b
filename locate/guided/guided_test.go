package guided

import (
	"strings"
	"testing"

	"tracerag/knowledge/knowledgetest"
	"tracerag/locate"
)

// TestWords: without a model there is the answer of package locate, and nothing else.
func TestWords(t *testing.T) {
	g := guideOf(nil, map[string]string{"go.mod": "module example.com/app\n", "a.go": "package app\n\n// Draw draws the border.\nfunc Draw() {}\n"})
	a, err := g.Locate(t.Context(), locate.Question{Text: "the border is cut"}, Words)
	if err != nil || len(a.Functions) != 1 || a.Functions[0].Name != "Draw" || a.How != Words {
		t.Fatalf("%+v %v", a, err)
	}
	if _, err := g.Locate(t.Context(), locate.Question{Text: "x"}, "guess"); err == nil || !strings.HasPrefix(err.Error(), `unknown strategy "guess": must be one of words, `) {
		t.Error(err)
	}
}

func guideOf(model any, texts ...map[string]string) *Guide {
	store := &knowledgetest.Store{}
	for i, files := range texts {
		in := map[string][]byte{}
		for p, text := range files {
			in[p] = []byte(text)
		}
		store.Repos = append(store.Repos, new(knowledgetest.Parser).Parse(string(rune('a'+i)), in, nil))
	}
	return &Guide{Store: store, Options: locate.Options{Text: store.Text}}
}
