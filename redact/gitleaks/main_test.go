package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"

	"tracerag/redact"
)

func TestRulesAreThoseOfGitleaks(t *testing.T) {
	want, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if version() != "(unknown)" && !bytes.Equal(got, want) {
		t.Error("rules.json is not what this version of gitleaks has: make rules")
	}
}

// TestMasksWhatGitleaksFinds makes texts that the rules match and looks whether
// what gitleaks finds in them is masked.
func TestMasksWhatGitleaksFinds(t *testing.T) {
	d := detector(t)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for id, r := range d.Config.Rules {
		if r.Regex == nil || r.Path != nil {
			continue
		}
		tree, err := syntax.Parse(r.Regex.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		of := 0
		for range 40 {
			var b strings.Builder
			example(&b, tree, random)
			text := "func f() {\n\tx := \"" + b.String() + "\"\n\treturn\n}\n"
			of += compare(t, d, id, text)
		}
		if of == 0 {
			t.Logf("%s: no example was made", id)
			continue
		}
		found++
	}
	if found < 180 {
		t.Errorf("only %d rules found anything: the test is broken", found)
	}
}

// TestSources does the same with the files of the module cache.
func TestSources(t *testing.T) {
	d := detector(t)
	dir, files, size, n := os.Getenv("REDACT_SOURCES"), 0, 0, 0
	if dir == "" {
		t.Skip("REDACT_SOURCES names no directory of sources")
	}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.Contains(path, "gitleaks") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		size += len(data)
		n += compare(t, d, path, string(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d secrets in %d files, %d bytes", n, files, size)
}

func detector(t *testing.T) *detect.Detector {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	d.IgnoreGitleaksAllow = true
	return d
}

var base64Line = regexp.MustCompile(`[A-Za-z0-9+/]{40}`)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// compare reports each secret that gitleaks finds and redact leaves, and returns
// how many gitleaks finds.
func compare(t *testing.T, d *detect.Detector, name, text string) int {
	t.Helper()
	secrets := d.DetectString(text)
	r := redact.New()
	masked := r.Text(text)
	for _, s := range secrets {
		if s.RuleID == "private-key" && !base64Line.MatchString(s.Secret) {
			continue // code between the words that a key begins and ends with
		}
		if s.RuleID == "generic-api-key" && identifier.MatchString(s.Secret) {
			continue // may be a name
		}
		// What stands elsewhere in a longer word, or spelled otherwise, is not this one.
		if strings.Count(masked, s.Secret) >= strings.Count(text, s.Secret) {
			t.Errorf("%s: %s found %q, which stays in\n%.2000s", name, s.RuleID, s.Secret, masked)
		}
	}
	if extra := added(r.Findings(), secrets); testing.Verbose() && len(extra) > 0 {
		t.Logf("%s: gitleaks has %d, redact %s", name, len(secrets), redact.Summary(extra))
	}
	return len(secrets)
}

// added are the findings of kinds that gitleaks has none of.
func added(found []redact.Finding, secrets []report.Finding) []redact.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f redact.Finding) bool {
		return slices.ContainsFunc(secrets, func(s report.Finding) bool { return s.RuleID == f.Kind })
	})
}

// example writes a text that an expression matches.
func example(b *strings.Builder, re *syntax.Regexp, random *rand.Rand) {
	repeat := func(low, high int) {
		if high < 0 {
			high = low + 20
		}
		for range low + random.IntN(min(high-low, 20)+1) {
			example(b, re.Sub[0], random)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := 2 * random.IntN(len(re.Rune)/2)
		low, high := re.Rune[i], min(re.Rune[i+1], 0x7e)
		if low > high || low < ' ' {
			low, high = 'x', 'x'
			for _, c := range "= x" {
				for j := 0; j < len(re.Rune); j += 2 {
					if re.Rune[j] <= c && c <= re.Rune[j+1] {
						low, high = c, c
					}
				}
			}
		}
		fmt.Fprintf(b, "%c", low+random.Int32N(high-low+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcdefghij0123456789"[random.IntN(20)])
	case syntax.OpCapture:
		example(b, re.Sub[0], random)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			example(b, sub, random)
		}
	case syntax.OpAlternate:
		example(b, re.Sub[random.IntN(len(re.Sub))], random)
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	}
}
