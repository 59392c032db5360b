package guided

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/locate"
)

// TestTreeRewards: five rewards by words do not reach what is wrong, which has no word of the
// report. The tree does, by what is beside it and what calls it. Both ask about none twice.
func TestTreeRewards(t *testing.T) {
	for tree, want := range map[bool]string{false: "Draw", true: "half"} {
		asked := map[string]int{}
		m := &searchModel{summary: "PLAN: x", steps: []string{"ANSWER:\nNONE"}}
		m.reward = func(f string) string { asked[f]++; return halfIsWrong(f) }
		g, _ := searchGuide(t, m)
		g.Search = SearchOptions{Rewards: 5, Tree: tree}
		a, err := g.Locate(t.Context(), locate.Question{Text: "draws the border"}, Search)
		if err != nil || len(asked) != 5 || a.Functions[0].Name != want {
			t.Errorf("tree %v: %v %v %v", tree, asked, functionsOf(a.Answer), err)
		}
		for f, n := range asked {
			if n != 1 {
				t.Errorf("%s was asked about %d times", f, n)
			}
		}
	}
}

// TestRewardSaysWhatItDoes: of a function without a comment a question has what the book says of it.
func TestRewardSaysWhatItDoes(t *testing.T) {
	m := &searchModel{reward: halfIsWrong, summary: "PLAN: x", steps: []string{"ANSWER:\nNONE"}}
	g, _ := searchGuide(t, m)
	if _, err := g.Locate(t.Context(), locate.Question{Text: "no such option draws"}, Search); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.sent, func(x llm.Message) bool { return strings.HasPrefix(x.Content, askReward) })
	if i < 0 {
		t.Fatal("no reward was asked for")
	}
	asked := m.sent[i].Content
	if !strings.Contains(asked, "Far in other/other.go:3\ndoes: uses println; has \"no such option\"\nfunc Far()") {
		t.Errorf("what Far does is not in\n%s", asked)
	}
	if _, draw, _ := strings.Cut(asked, "] Draw in "); strings.HasPrefix(draw[strings.IndexByte(draw, '\n'):], "\ndoes: ") {
		t.Errorf("what Draw does is there twice in\n%s", asked)
	}
}

// secrets knows one password when it has seen its file.
type secrets struct{ known bool }

func (x *secrets) Located(*locate.Answer) {}

func (x *secrets) LearnTexts(texts []string) {
	x.known = x.known || strings.Contains(strings.Join(texts, "\n"), "password =")
}

func (x *secrets) Clean(text string) string {
	if x.known {
		text = strings.ReplaceAll(text, "tr0ub4dor", "[secret]")
	}
	return text
}

// TestSearchMasks: a password that another line of the file names is masked in a function.
func TestSearchMasks(t *testing.T) {
	m := &searchModel{reward: halfIsWrong, summary: "PLAN: x", steps: []string{"ACT: search_function Draw", "ANSWER:\nNONE"}}
	g := guideOf(nil, map[string]string{"go.mod": "module example.com/app\n",
		"a.go": "package a\n\nconst password = \"tr0ub4dor\"\n\n// Draw draws the border.\nfunc Draw() { println(\"tr0ub4dor\") }\n"})
	known := new(secrets)
	g.Secrets = known
	g.Model = metered.New(metered.Options{Model: "scripted", Ask: m.ask, Window: 16000, MaxTokens: 500, Count: func(s string) int { return (len(s) + 3) / 4 },
		Mask: known.Clean})
	if _, err := g.Locate(t.Context(), locate.Question{Text: borderReport}, Search); err != nil {
		t.Fatal(err)
	}
	for _, x := range m.sent {
		if strings.Contains(x.Content, "tr0ub4dor") || !strings.Contains(x.Content, "FUNCTIONS") {
			t.Errorf("%s", x.Content)
		}
	}
}

func TestRewardReply(t *testing.T) {
	for text, want := range map[string]string{
		"[1] a => 7\n[2] b => 2":                  "7 a, 2 b",
		"Sure:\n\n[1] a — 7/10\n[2] b: **3**.":    "7 a, 3 b",
		"1. a -> 7\n2. b → 10":                    "7 a, 10 b",
		"[2] b => 2\n[1] 8: because of 3 columns": "8 because of 3 columns, 2 b",
		"- [1] 8\n- [2] reward: 3":                "8 , 3 ",
		"[1] a => 7":                              "[2] has no reward",
		"[1] a => 7\n[2] b => 11":                 "the line of [2] does not end in a reward from 1 to 10",
		"[1] a => 7\n[2] b => 0":                  "the line of [2] does not end in a reward from 1 to 10",
		"[1] a => 7\n[2] b\n[3] c => 4":           "[3] is unknown: the functions have the numbers 1 to 2",
		"[1] a => 7\n[1] again => 2\n[2] b => 1":  "7 a, 1 b",
		"":                                        "[1] has no reward",
		"[99999999999999999999] x => 3":           "[9223372036854775807] is unknown: the functions have the numbers 1 to 2",
	} {
		r := rewardReply{n: 2}
		got := ""
		if err := r.read(text); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d %s, %d %s", r.best[0].reward, r.best[0].why, r.best[1].reward, r.best[1].why)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	r := rewardReply{n: 1}
	if err := r.read("7"); err != nil || r.best[0].reward != 7 {
		t.Error(err, r.best)
	}
}
