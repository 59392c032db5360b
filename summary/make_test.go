package summary

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/knowledge"
	"tracerag/llm/metered"
)

// TestMaker: a question a file, one for the package of two files, one for the repository. The
// book then has what the model said.
func TestMaker(t *testing.T) {
	w := newWorld(t)
	n, made := w.must(small())
	if n != 5 || made != (Made{Decls: 10, Files: 3, Packages: 2, Repositories: 1}) {
		t.Errorf("asked %d, made %+v", n, made)
	}
	if got, want := w.shown(small()), `cmd/main.go: does what file does
  main: does what func main does
draw.go: does what file does
  Draw: does what func Draw does
  pad: does what func pad does
  thin: does what const thin does
  Table: does what type Table does
  (*Table).Add: does what method (*Table).Add does
  Table.Len: does what method Table.Len does
  _: does what rest does
row.go: does what file does
  init: does what func init does
  init#2: does what func init#2 does
example.com/table: All of it together.
example.com/table/cmd: does what file does
repository: All of it together.
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	all := strings.Join(w.asked, "\n")
	if strings.Contains(all, "helper") {
		t.Error("a test was sent")
	}
	for _, want := range []string{"module example.com/table", "package .: Package table draws tables.", `panic("the width is negative")`} {
		if !strings.Contains(all, want) {
			t.Errorf("no question has %q:\n%s", want, all)
		}
	}
	if n, made := w.must(small()); n != 0 || made != (Made{}) {
		t.Errorf("the second time asked %d, made %+v", n, made)
	}
}

// TestChanges says what a change asks again.
func TestChanges(t *testing.T) {
	change := func(file, old, now string) func(map[string]string) {
		return func(texts map[string]string) {
			text := strings.Replace(texts[file], old, now, 1)
			if text == texts[file] {
				t.Fatalf("%s has no %q", file, old)
			}
			texts[file] = text
		}
	}
	for _, tt := range []struct {
		name      string
		change    func(map[string]string)
		questions int
		made      Made
		shown     []string // whole; no other function is
	}{
		{"formatting", func(texts map[string]string) {
			for name, text := range texts {
				formatted, err := format.Source([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				texts[name] = string(formatted) + "\n\n"
			}
		}, 0, Made{}, nil},
		{"one function", change("draw.go", "Rows += n", "Rows -= n"), 3, Made{Decls: 1, Files: 1, Packages: 1, Repositories: 1}, []string{"t.Rows -= n"}},
		{"a comment of it", change("draw.go", "// Draw draws", "// Draw paints"), 3, Made{Decls: 1, Files: 1, Packages: 1, Repositories: 1}, []string{"Draw paints"}},
		{"a function is deleted", change("row.go", "func init() { Draw(2) }", ""), 3, Made{Files: 1, Packages: 1, Repositories: 1}, nil},
		{"a test", change("draw_test.go", "helper", "helps"), 0, Made{}, nil},
		{"a file moves to a new package", func(texts map[string]string) {
			texts["rows/row.go"] = texts["row.go"]
			delete(texts, "row.go")
		}, 1, Made{Packages: 2, Repositories: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.reply = func(n int, q string) string { // other words for each question
				return strings.ReplaceAll(strings.ReplaceAll(right(q), "does what", fmt.Sprint("does in ", n)), "together", fmt.Sprint("together ", n))
			}
			w.must(small())
			before := len(w.asked)
			texts := small()
			tt.change(texts)
			k, files, r := w.maker(texts)
			e, err := k.Estimate(t.Context(), r, files, false)
			if err != nil {
				t.Fatal(err)
			}
			n, made := w.must(texts)
			if n != tt.questions || made != tt.made || n > 4 || e.Questions != n || e.Made != made {
				t.Errorf("asked %d, made %+v, estimated %+v", n, made, e)
			}
			sent := strings.Join(w.asked[before:], "\n")
			for _, s := range tt.shown {
				if !strings.Contains(sent, s) {
					t.Errorf("not sent: %s", s)
				}
			}
			for _, s := range []string{"{ pad(w) }", "panic(", "thick", "return t.Rows"} {
				if strings.Contains(sent, s) && !(s == "{ pad(w) }" && tt.name == "a comment of it") {
					t.Errorf("sent, and did not change: %s", s)
				}
			}
		})
	}
}

// TestSameLine: what is said as before is not asked about further up.
func TestSameLine(t *testing.T) {
	w := newWorld(t)
	w.must(small())
	texts := small()
	texts["draw.go"] = strings.Replace(texts["draw.go"], "Rows += n", "Rows -= n", 1)
	if n, made := w.must(texts); n != 1 || made != (Made{Decls: 1, Files: 1, Packages: 1, Repositories: 1}) {
		t.Errorf("asked %d, made %+v", n, made)
	}
}

// TestRepair: a line that lacks is asked again by name, twice at most. Then it is the substitute,
// which is not asked again.
func TestRepair(t *testing.T) {
	texts := map[string]string{"draw.go": drawGo}
	drop := func(s, line string) string {
		return strings.Replace(s, line+": does what "+line+" does\n", "", 1)
	}
	for _, tt := range []struct {
		name        string
		reply       func(n int, q string) string
		questions   int
		substitutes int
		again       []string // in the second question
		has         string
	}{
		{"another order", func(_ int, q string) string {
			lines := strings.Split(strings.TrimSpace(right(q)), "\n")
			slices.Reverse(lines)
			return strings.Join(lines, "\n")
		}, 1, 0, nil, "pad: does what func pad does"},
		{"other marks", func(_ int, q string) string {
			return "Here they are:\n```\n" + strings.NewReplacer("method (*Table).Add", "  - **method (t *Table) Add(n int)**", "method Table.Len", "  Len", "func pad", "`pad`").Replace(right(q)) + "```\n"
		}, 1, 0, nil, "(*Table).Add: does what"},
		{"too much", func(_ int, q string) string { return right(q) + "func Gone: is gone\n" }, 1, 0, nil, "pad: does what func pad does"},
		{"one lacks at first", func(n int, q string) string {
			if n == 1 {
				return drop(right(q), "func pad") + "func paddle: moves a boat\x1b[31m\n"
			}
			return right(q)
		}, 2, 0, []string{"no line for: func pad.", `"func paddle"`}, "pad: does what func pad does"},
		{"a method under another type", func(n int, q string) string {
			s := right(q)
			if n == 1 {
				s = strings.Replace(s, "method (*Table).Add", "method (*Row).Add", 1)
			}
			return s
		}, 2, 0, []string{"no line for: method (*Table).Add.", `"method (*Row).Add"`}, "(*Table).Add: does what method (*Table).Add does"},
		{"the file's line lacks twice", func(n int, q string) string {
			if n < 3 {
				return drop(right(q), "file")
			}
			return right(q)
		}, 3, 0, []string{"no line for: file."}, "draw.go: does what file does"},
		{"one always lacks", func(_ int, q string) string { return drop(right(q), "func Draw") }, 3, 1, []string{"no line for: func Draw."}, "Draw: Draw draws the border."},
		{"never right", func(int, string) string { return "I cannot do that." }, 3, 8, nil, "draw.go: Package table draws tables. Draw, pad, Table"},
		{"silence", func(int, string) string { return "" }, 3, 8, nil, "Draw: Draw draws the border."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.reply = tt.reply
			n, made := w.must(texts) // the package has one file, the repository one package
			if n != tt.questions || made.Substitutes != tt.substitutes || made.Decls != 7 || made.Files != 1 {
				t.Errorf("asked %d, made %+v", n, made)
			}
			for _, s := range tt.again {
				if len(w.asked) < 2 || !strings.Contains(w.asked[1], s) {
					t.Errorf("not asked: %s\n%q", s, w.asked)
				}
			}
			if len(w.asked) > 1 && len(tt.again) > 0 && strings.Contains(w.asked[1], "panic(") != strings.Contains(tt.again[0], "pad") {
				t.Errorf("what was right is sent again, or what lacks is not:\n%s", w.asked[1])
			}
			if got := w.shown(texts); !strings.Contains(got, tt.has) || strings.ContainsRune(got, 0x1b) {
				t.Errorf("want %q in\n%s", tt.has, got)
			}
			if n, made := w.must(texts); n != 0 || made != (Made{}) {
				t.Errorf("the second time asked %d, made %+v", n, made)
			}
		})
	}
}

// counting counts questions about declarations.
type counting struct {
	knowledge.Reader
	mu    sync.Mutex
	asked int
}

func (c *counting) In(ctx context.Context, files []int64) ([]knowledge.Decl, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	return c.Reader.In(ctx, files)
}

// TestReadsTogether: the store is asked about many files at once, by what makes summaries and by what
// shows them, and each file once more for its question.
func TestReadsTogether(t *testing.T) {
	w := newWorld(t)
	texts := map[string]string{}
	const files, packages = 250, 25
	for i := range files {
		texts[fmt.Sprintf("p%d/a%d.go", i%packages, i)] = fmt.Sprintf("package p\n\nfunc F%d() {}\n", i)
	}
	k, list, r := w.maker(texts)
	store := &counting{Reader: k.Book.Store}
	k.Book.Store = store
	learned := 0
	k.Learn = func(texts []string) { learned += len(texts) }
	ctx := t.Context()
	most := func(what string, n int, do func() error) {
		t.Helper()
		store.asked = 0
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if store.asked > n {
			t.Errorf("%s asked for declarations %d times", what, store.asked)
		}
	}
	most("making", files+6, func() error { return errors.Join(k.Files(ctx, list), k.Above(ctx, r)) })
	if made := k.Made(); made.Files != files || made.Packages != packages || made.Repositories != 1 || learned != files {
		t.Fatalf("%d learned, made %+v", learned, made)
	}
	most("a second time", 6, func() error { return errors.Join(k.Files(ctx, list), k.Above(ctx, r)) })
	most("what ran", 1, func() error { _, err := Program(ctx, store, r.ID, ""); return err })
	most("a book", 3, func() error { _, err := k.Book.Files(ctx, list); return err })
	most("packages", 3, func() error {
		list, err := k.Book.Packages(ctx, r.ID)
		if err == nil && (len(list) != packages || len(list[1].Files) != files/packages || !strings.Contains(list[1].Text, "All of it together")) {
			t.Errorf("%d packages, the second one %+v", len(list), list[1])
		}
		return err
	})
}

// TestSmallWindow: a window that leaves next to nothing beside an answer ends with what is lacking.
func TestSmallWindow(t *testing.T) {
	texts := map[string]string{"draw.go": drawGo, "row.go": rowGo, "big.go": "package big\n\nfunc Big() {\n" + strings.Repeat("\tx()\n", 3000) + "}\n"}
	for i := range 40 { // packages enough for a seed that is condensed
		texts[fmt.Sprintf("p%d/p.go", i)] = "// Package p " + strings.Repeat("has a long comment ", 10) + ".\npackage p\n"
	}
	few, all := 0, 0
	for left := -4100; left < 1000; left += 73 {
		w := newWorld(t)
		w.window = w.maxTokens + 64 + words(system) + left
		_, _, err := w.run(texts)
		if err == nil {
			all++
			continue
		}
		few++
		if long, ok := errors.AsType[*metered.TooLongError](err); !ok || long.Tokens <= long.Room {
			t.Errorf("%d tokens are left: %v", left, err)
		}
	}
	if few == 0 || all == 0 {
		t.Errorf("%d windows are too small, %d large enough", few, all)
	}
}

// TestRounds: what does not fit is asked in rounds.
func TestRounds(t *testing.T) {
	w := newWorld(t)
	w.window = 6000
	texts := map[string]string{}
	for i := range 300 {
		texts[fmt.Sprintf("a%03d.go", i)] = fmt.Sprintf("package a\n\nfunc F%d() {}\n", i)
	}
	w.reply = func(_ int, q string) string {
		return strings.ReplaceAll(right(q), "does what", strings.Repeat("goes far ", 20))
	}
	n, made := w.must(texts)
	if made.Packages != 1 || made.Substitutes != 0 || n < 303 || n > 330 {
		t.Errorf("asked %d, made %+v", n, made)
	}
}

// FuzzReply: whatever a model says, what is kept is in one line and bounded, and nothing of it is
// asked again.
func FuzzReply(f *testing.F) {
	f.Add("file: x\nfunc Draw: y\n", 8000)
	f.Add("method (*Table.Add: [\nrest:\nconst (thin, thick): a:b:c\n(: x\nfunc : \x00\n", 4200)
	f.Add("type Table[: x\nmethod ): y\n****:::\n", 5000)
	f.Fuzz(func(t *testing.T, text string, window int) {
		w := newWorld(t)
		w.window = 4000 + 64 + words(system) + max(0, window)%20000
		w.reply = func(int, string) string { return text }
		texts := map[string]string{"draw.go": drawGo, "row.go": rowGo}
		_, _, err := w.run(texts)
		if err != nil && !strings.Contains(err.Error(), "room") {
			t.Fatal(err)
		}
		if len(w.asked) > 3*4 {
			t.Errorf("asked %d", len(w.asked))
		}
		for _, x := range w.kept.set {
			if len(x.Text) > longestParagraph+8 || strings.ContainsAny(x.Text, "\n\r\x00\x1b") {
				t.Errorf("kept %q", x.Text)
			}
		}
		if err == nil {
			if n, _ := w.must(texts); n != 0 {
				t.Errorf("the second time asked %d", n)
			}
		}
	})
}
