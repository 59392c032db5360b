// Package gitleaks holds package redact against gitleaks: its rules against what
// gitleaks itself makes of its configuration, and its detector, which is another one,
// against that of gitleaks.
//
// It is a module of its own because that detector brings 62 modules with it.
package gitleaks

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"

	"tracerag/redact"
	"tracerag/redact/rules"
)

const library = "github.com/zricethezav/gitleaks/v8"

// TestVersion: what is compared here is what is in the program.
func TestVersion(t *testing.T) {
	for _, module := range []string{library, "github.com/pelletier/go-toml/v2"} {
		version := func(dir string) string {
			cmd := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module)
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(out))
		}
		if here, there := version("."), version("../.."); here != there {
			t.Errorf("%s is %s in redact/gitleaks/go.mod and %s in go.mod: go get both to the same", module, here, there)
		}
	}
}

func TestRulesAreThoseOfGitleaks(t *testing.T) {
	got, err := rules.Default()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, selected(t, translated(t, config.DefaultConfig)))
}

// TestRulesOfAnotherConfiguration has what the default one has not, or not any more.
func TestRulesOfAnotherConfiguration(t *testing.T) {
	const text = `
[[allowlists]]
targetRules = ["new", "old"]
regexes = ["targeted"]
[[allowlists]]
stopwords = ["Global", "all", "ALL"]
[[rules]]
id = "old"
regex = "(?i)(old)-(secret)"
secretGroup = 2
entropy = 3
keywords = ["Old", "SECRET"]
[rules.allowlist]
regexTarget = "secret"
regexes = ["a", "b"]
stopwords = ["x"]
[[rules]]
id = "new"
regex = "new"
keywords = ["new"]
[[rules.allowlists]]
condition = "||"
regexTarget = "match"
regexes = ["a"]
[[rules.allowlists]]
condition = "and"
regexes = ["a"]
stopwords = ["b"]
[[rules.allowlists]]
regexTarget = "line"
regexes = ["a"]
[[rules.allowlists]]
paths = ["p"]
commits = ["c"]
[[rules]]
id = "file"
path = "p"
regex = "file"
`
	got, err := rules.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, selected(t, translated(t, text)))
	if len(got.Rules) != 2 || len(got.Allow) != 1 {
		t.Errorf("%d rules, %d allowlists", len(got.Rules), len(got.Allow))
	}
}

func equal(t *testing.T, got, want rules.Set) {
	t.Helper()
	if len(got.Rules) != len(want.Rules) {
		t.Fatalf("%d rules, gitleaks has %d", len(got.Rules), len(want.Rules))
	}
	for i, r := range got.Rules {
		if !reflect.DeepEqual(r, want.Rules[i]) {
			t.Errorf("got           %+v\ngitleaks has  %+v", r, want.Rules[i])
		}
	}
	if !reflect.DeepEqual(got.Allow, want.Allow) {
		t.Errorf("for all rules\ngot           %+v\ngitleaks has  %+v", got.Allow, want.Allow)
	}
}

// translated is what gitleaks makes of a configuration.
func translated(t *testing.T, text string) config.Config {
	viper.Reset()
	viper.SetConfigType("toml")
	var raw config.ViperConfig
	err := errors.Join(viper.ReadConfig(strings.NewReader(text)), viper.Unmarshal(&raw))
	if err != nil {
		t.Fatal(err)
	}
	c, err := raw.Translate()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// selected is the part of it that package rules should return.
func selected(t *testing.T, c config.Config) rules.Set {
	set := rules.Set{Allow: allows(c.Allowlists)}
	for _, id := range slices.Sorted(maps.Keys(c.Rules)) {
		r := c.Rules[id]
		// A rule about certain files has nothing to say of a text without a name.
		if r.Path != nil || r.Regex == nil {
			continue
		}
		if len(r.RequiredRules) > 0 || r.SkipReport {
			t.Errorf("rule %s needs others or is no finding: package rules has no field for that", id)
		}
		out := rules.Rule{ID: id, Regex: r.Regex.String(), Group: r.SecretGroup, Entropy: r.Entropy, Allow: allows(r.Allowlists)}
		for _, k := range r.Keywords {
			out.Keywords = append(out.Keywords, strings.ToLower(k))
		}
		set.Rules = append(set.Rules, out)
	}
	return set
}

// allows leaves out what looks at paths, commits and lines.
func allows(lists []*config.Allowlist) []rules.Allow {
	var out []rules.Allow
	for _, l := range lists {
		if l.RegexTarget == "line" || l.MatchCondition == config.AllowlistMatchAnd {
			continue
		}
		a := rules.Allow{Match: l.RegexTarget == "match", StopWords: slices.Sorted(slices.Values(l.StopWords))}
		for _, r := range l.Regexes {
			a.Regexes = append(a.Regexes, r.String())
		}
		if len(a.Regexes)+len(a.StopWords) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// TestMasksWhatGitleaksFinds makes texts that the rules match and looks whether
// what gitleaks finds in them is masked.
func TestMasksWhatGitleaksFinds(t *testing.T) {
	d := detector(t)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for _, id := range slices.Sorted(maps.Keys(d.Config.Rules)) {
		r := d.Config.Rules[id]
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
		// What is elsewhere in a longer word, or spelled otherwise, is not this one.
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
