package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/trace/store"
)

func TestAnswersComeBackInTheirOrder(t *testing.T) {
	s := store.Open(t.TempDir())
	e := save(t, s, "app")
	if got, err := s.Answers(e); err != nil || len(got) != 0 {
		t.Errorf("before any: %v, %v", got, err)
	}
	first := store.Conversation{
		Traces: []string{e.ID, "ab12cd34"}, Model: "m-1", Question: "why <b> & not \"c\"?",
		Messages: []store.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "the prompt"}},
		Answer:   "because", Usage: store.Usage{PromptTokens: 10, CompletionTokens: 2, TotalTokens: 12},
		Created: time.Date(2026, 1, 2, 4, 4, 5, 6e6, time.FixedZone("", 3600)),
	}
	path, err := s.SaveAnswer(e, first)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSuffix(e.Path, ".pb.gz") + ".ask-001.json"; path != want {
		t.Errorf("saved at %s, want %s", path, want)
	}
	if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	data, _ := os.ReadFile(path)
	if want := `"question": "why <b> & not \"c\"?"`; !strings.Contains(string(data), want) || !strings.Contains(string(data), `"created": "2026-01-02T03:04:05.006Z"`) {
		t.Errorf("the file is not as a person would read it:\n%s", data)
	}
	second := store.Conversation{Messages: first.Next("and then?"), Answer: "nothi", Incomplete: true}
	if _, err := s.SaveAnswer(e, second); err != nil {
		t.Fatal(err)
	}
	got, err := s.Answers(e)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	if !got[0].Created.Equal(first.Created) || got[0].Path != path || got[0].Version != store.ConversationVersion {
		t.Errorf("read back %+v", got[0])
	}
	got[0].Created, got[0].Path, got[0].Version = first.Created, "", 0
	if !reflect.DeepEqual(got[0], first) {
		t.Errorf("read back %+v, saved %+v", got[0], first)
	}
	want := []store.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "the prompt"}, {Role: "assistant", Content: "because"}, {Role: "user", Content: "and then?"}}
	if !reflect.DeepEqual(got[1].Messages, want) || !got[1].Incomplete {
		t.Errorf("the second round: %+v", got[1])
	}
	list, err := s.List()
	if err != nil || list[0].Size <= e.Size+int64(len(data)) {
		t.Errorf("the entry takes %d bytes, %v: the answers are not counted", list[0].Size, err)
	}
}

func TestConcurrentAnswersDoNotClash(t *testing.T) {
	s := store.Open(t.TempDir())
	e := save(t, s, "app")
	const n = 16
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := s.SaveAnswer(e, store.Conversation{Answer: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := s.Answers(e)
	seen := map[string]bool{}
	for _, c := range got {
		seen[c.Answer] = true
	}
	if err != nil || len(seen) != n {
		t.Errorf("%d different answers kept, %v, want %d", len(seen), err, n)
	}
}

func TestADamagedAnswerDoesNotHideTheOthers(t *testing.T) {
	dir := t.TempDir()
	s := store.Open(dir)
	e := save(t, s, "app")
	stem := strings.TrimSuffix(e.Path, ".pb.gz")
	for name, content := range map[string]string{
		".ask-003.json": `{"version": 1, "ans`, ".ask-004.json": `{}`, ".ask-005.json": `{"version": 99}`,
		".ask-006.json": ``, ".ask-1000.json": `{"version":1,"answer":"late"}`, ".ask-0007.json": `{"version":1,"answer":"no such number"}`,
	} {
		if err := os.WriteFile(stem+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path, err := s.SaveAnswer(e, store.Conversation{Answer: "last"})
	if err != nil || filepath.Base(path) != filepath.Base(stem)+".ask-1001.json" {
		t.Fatalf("saved at %s, %v", path, err)
	}
	got, err := s.Answers(e)
	if len(got) != 2 || got[0].Answer != "late" || got[1].Answer != "last" {
		t.Errorf("read %+v", got)
	}
	for _, want := range []string{"003.json: not a readable conversation", "004.json: not a conversation", "005.json: its version 99 is newer"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("more than three complaints: %v", err)
	}
}

func TestAnAnswerAboutATraceElsewhereIsSavedBesideIt(t *testing.T) {
	s := store.Open(t.TempDir())
	e := save(t, s, "app")
	e.Path = filepath.Join(t.TempDir(), "mine.pb.gz")
	path, err := s.SaveAnswer(e, store.Conversation{Answer: "x"})
	if want := filepath.Join(filepath.Dir(e.Path), "mine.ask-001.json"); err != nil || path != want {
		t.Errorf("saved at %s, %v, want %s", path, err, want)
	}
}
