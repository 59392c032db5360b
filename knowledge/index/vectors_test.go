package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge/index"
)

// letters is a model of a kind: near are texts with the same letters.
func letters(asked *[]string) index.EmbedFunc {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		var out [][]float32
		for _, t := range texts {
			*asked = append(*asked, t)
			v := make([]float32, 26)
			for _, c := range strings.ToLower(t) {
				if 'a' <= c && c <= 'z' {
					v[c-'a']++
				}
			}
			out = append(out, v)
		}
		return out, nil
	}
}

// stars hides one text.
type stars struct{}

func (stars) LearnText(string)        {}
func (stars) Text(text string) string { return strings.ReplaceAll(text, "eeeee", "*****") }

// TestEmbed makes vectors once for each text, and finds functions by them.
func TestEmbed(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/zoo\n")
	write("zoo.go", "package zoo\n\n// zebra jazz\nfunc zzz() { jazz(\"zzzzz\") }\n\nfunc eee() { see(\"eeeee\") }\n\ntype T int\n")
	write("zoo_test.go", "package zoo\n\nfunc testing() {}\n")
	s := open(t)
	var asked []string
	embed := func(wantMade, wantAsked int) {
		t.Helper()
		asked = nil
		if _, err := index.Update(t.Context(), s, root, index.Options{}); err != nil {
			t.Fatal(err)
		}
		made, err := index.Embed(t.Context(), s, &index.Embedding{Model: "letters", Embed: letters(&asked), Mask: stars{}})
		if err != nil || made != wantMade || len(asked) != wantAsked {
			t.Errorf("made %d of %q: %v", made, asked, err)
		}
	}
	embed(2, 2)
	if text := strings.Join(asked, "|"); !strings.Contains(text, "zebra jazz") || strings.Contains(text, "eeeee") || strings.Contains(text, "testing") {
		t.Errorf("sent: %s", text)
	}
	embed(0, 0)
	near, err := s.Nearest(t.Context(), "letters", mustEmbed(t, "zzz"), nil, 5)
	if err != nil || len(near) != 2 || near[0].Name != "zzz" || near[0].Cosine <= near[1].Cosine || near[0].Cosine > 1.0001 {
		t.Errorf("near zzz: %+v, %v", near, err)
	}
	if near, err := s.Nearest(t.Context(), "another", mustEmbed(t, "zzz"), nil, 5); err != nil || len(near) != 0 {
		t.Errorf("another model has %v, %v", near, err)
	}
	if near, err := s.Nearest(t.Context(), "letters", []float32{1, 2}, nil, 5); err != nil || len(near) != 0 {
		t.Errorf("vectors of another length: %v, %v", near, err)
	}

	// Formatting and moving make none; a change makes one.
	write("zoo.go", "package zoo\n\ntype T int\n")
	write("moved.go", "package zoo\n\n//   zebra   jazz\nfunc zzz() {\n\tjazz(\"zzzzz\")\n}\n\nfunc eee() { see(\"more\") }\n")
	embed(1, 1)

	// What came before an interruption is kept.
	many := "package zoo\n"
	for i := range 100 {
		many += "\nfunc f" + strings.Repeat("x", i) + "() {}\n"
	}
	write("many.go", many)
	if _, err := index.Update(t.Context(), s, root, index.Options{}); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("no server")
	calls, told := 0, 0
	made, err := index.Embed(t.Context(), s, &index.Embedding{Model: "letters", Mask: stars{}, Progress: func(done int) { told = done }, Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		if calls++; calls > 1 {
			return nil, broke
		}
		return letters(&asked)(ctx, texts)
	}})
	if err != broke || made != 64 || told != 64 {
		t.Errorf("made %d, told %d, before %v", made, told, err)
	}
	embed(36, 36)
}

func mustEmbed(t *testing.T, text string) []float32 {
	t.Helper()
	var asked []string
	v, err := letters(&asked)(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// learner hides what it has read behind "password: ".
type learner struct{ secrets []string }

func (l *learner) LearnText(text string) {
	for _, part := range strings.Split(text, "password: ")[1:] {
		l.secrets = append(l.secrets, strings.Fields(part)[0])
	}
}

func (l *learner) Text(text string) string {
	for _, s := range l.secrets {
		text = strings.ReplaceAll(text, s, "*****")
	}
	return text
}

// TestEmbedLearnsAllFiles: what the last file names a password is not sent with the first.
func TestEmbedLearnsAllFiles(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/zoo\n",
		"a.go":   "package zoo\n\nfunc a() { see(\"swordfish\") }\n",
		"z.go":   "package zoo\n\n// password: swordfish\nfunc z() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t)
	update(t, s, root, index.Options{})
	var asked []string
	made, err := index.Embed(t.Context(), s, &index.Embedding{Model: "letters", Embed: letters(&asked), Mask: &learner{}})
	if text := strings.Join(asked, "|"); err != nil || made != 2 || strings.Contains(text, "swordfish") {
		t.Errorf("made %d, %v, sent: %s", made, err, text)
	}
}
