package redacttest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	forms := Forms(1)
	names := map[string]bool{}
	for _, f := range forms {
		if names[f.Name] {
			t.Errorf("two forms are named %s", f.Name)
		}
		names[f.Name] = true
		if len(f.Samples) == 0 {
			t.Errorf("%s is nowhere", f.Name)
		}
		places := map[Place]bool{}
		for _, s := range f.Samples {
			if places[s.Place] {
				t.Errorf("%s has two samples in %s", f.Name, s.Place)
			}
			places[s.Place] = true
			text := s.Text + strings.Join(s.Args, "\x00")
			if f.Left(text) == "" {
				t.Errorf("%s, %s: no secret in %s", f.Name, s.Place, text)
			}
			if s.Place == Args && len(s.Args) < 2 || s.Place == Value && s.Name == "" {
				t.Errorf("%s, %s: %+v", f.Name, s.Place, s)
			}
			if s.Place.Go() {
				if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n\t"+s.Text+"\n}\n", parser.SkipObjectResolution); err != nil {
					t.Errorf("%s, %s is no Go: %v\n%s", f.Name, s.Place, err, s.Text)
				}
			}
		}
	}
	if n := len(forms); n < 120 {
		t.Errorf("only %d forms", n)
	}
	t.Logf("%d forms", len(forms))
}

func TestSameForTheSameSeed(t *testing.T) {
	a, b, other := Forms(7), Forms(7), Forms(8)
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gives two sets")
	}
	for i := range a {
		for j, s := range a[i].Secrets {
			if s == other[i].Secrets[j] {
				t.Errorf("%s has the same secret for every seed: %s", a[i].Name, s)
			}
		}
	}
}

func TestLeft(t *testing.T) {
	f := Form{Secrets: []string{"hunter2", "0123456789abcdefghijklmno"}}
	for text, want := range map[string]string{"a hunter2 b": "hunter2", "hunter": "", "89abcdefghij": "89abcdef", "-0123456-": "", "": ""} {
		if got := f.Left(text); got != want {
			t.Errorf("of %q %q is left, want %q", text, got, want)
		}
	}
}

// TestNoneIsInTheRepository: anyone who writes a secret down here has a scanner of sources
// refuse the repository, and a detector that knows it pass.
func TestNoneIsInTheRepository(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			for _, f := range Forms(seed) {
				if part := f.Left(string(data)); part != "" {
					t.Errorf("%s holds %q of %s", file, part, f.Name)
				}
			}
		}
	}
}
