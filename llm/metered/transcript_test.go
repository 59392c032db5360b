package metered

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTranscript: a line for each exchange, in a file that only its owner reads, whoever could
// read what was there before.
func TestTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	if err := os.WriteFile(path, []byte("something longer that was there before all this, and is not to be there afterwards\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := NewTranscript(path)
	if err != nil {
		t.Fatal(err)
	}
	x.Tell(Exchange{Kind: "rerank", Answer: "[1]"})
	x.Tell(Exchange{Kind: "rerank", Answer: "[2]", Kept: true})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	want := `{"kind":"rerank","messages":null,"answer":"[1]","prompt_tokens":0,"answer_tokens":0}
{"kind":"rerank","messages":null,"answer":"[2]","kept":true,"prompt_tokens":0,"answer_tokens":0}
`
	if string(data) != want || err != nil {
		t.Errorf("%s %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if _, err := NewTranscript(filepath.Join(t.TempDir(), "no", "such")); err == nil {
		t.Error("a transcript in no directory")
	}
	if err := x.Close(); err == nil {
		t.Error("an error of the file is lost")
	}
	got := Totals{Questions: 2, Kept: 1, Prompt: 100, Answered: 10, Cost: .5}.String()
	if got != "2 questions, 100 prompt + 10 answer tokens, about $0.5000; 1 were answered earlier" {
		t.Error(got)
	}
}
