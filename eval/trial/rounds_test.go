package trial

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/eval"
	"tracerag/llm/llmtest"
)

// TestRounds: the variant that is asked in rounds reads before it answers, what all rounds
// took is added up, and its citations are held against all that was sent.
func TestRounds(t *testing.T) {
	x := newExaminee(t)
	x.text = strings.NewReplacer("variants: [T, ordered]", "variants: [T, rounds]", "repetitions: 3", "repetitions: 1").Replace(twice)
	var sent []string
	x.server = llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		var c llmtest.Chat
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Error(err)
		}
		text, reply := c.Messages[0].Content, "By `main.feature` (main.go:9), not `main.other` (main.go:77)."
		if strings.Contains(text, "Reply with nothing but READ") {
			reply = "READ\nmain.feature"
		}
		sent = append(sent, text)
		data, _ := json.Marshal(map[string]any{
			"model": c.Model, "usage": map[string]int{"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": reply}}},
		})
		w.Header().Set("Content-Type", "application/json")
		w.Write(data)
	}})
	out := x.asking(1, nil)
	if out.err != nil || out.open != 0 {
		t.Fatalf("%v, %d open\n%s", out.err, out.open, out.messages)
	}
	if len(sent) != 6 { // two inquiries: one prompt of T, two rounds
		t.Errorf("%d prompts were sent, want 6", len(sent))
	}
	files, _ := filepath.Glob(filepath.Join(x.dir, "out", "answers", "twice", "*.json"))
	found := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var a eval.Answer
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		if a.Variant != eval.Rounds {
			continue
		}
		found++
		if len(a.Rounds) != 2 || a.Usage.Prompt != 2000 || a.Usage.Completion != 100 || *a.Cost < 0.0059 || *a.Cost > 0.0061 {
			t.Errorf("%s: %d prompts, %+v, $%.4f", a.Inquiry, len(a.Rounds), a.Usage, *a.Cost)
		}
	}
	if found != 2 {
		t.Errorf("%d answers in rounds, want 2", found)
	}
	for _, r := range out.report.Results {
		want := "main.go:9, main.other, main.go:77"
		if r.Answer.Variant == eval.Rounds {
			want = "main.other, main.go:77"
		}
		if got := strings.Join(r.Gradings[0].Leaked, ", "); got != want {
			t.Errorf("%s %s: unknown: %s, want %s", r.Answer.Inquiry, r.Answer.Variant, got, want)
		}
	}
	// The rest of a ceiling that is less than all rounds may take is kept for them.
	x.dir = t.TempDir()
	if out := x.asking(0.2, nil); out.open == 0 {
		t.Errorf("%d prompts more were sent for 20 cents", len(sent)-6)
	}
}
