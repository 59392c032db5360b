// Command gitleaks writes the rules of package redact: those of gitleaks'
// default configuration, as far as they can judge a text that has no file name.
//
//	go run . ../rules.json        (make rules)
//
// It is a module of its own because gitleaks brings 62 modules, 10 MB of binary
// and a global configuration with it, of which tracerag needs the rules alone. Its
// test holds package redact against gitleaks itself.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

const module = "github.com/zricethezav/gitleaks/v8"

// The form of rules.json. Package redact reads the same.
type (
	ruleSet struct {
		Source string  `json:"source"`
		Allow  []allow `json:"allow"`
		Rules  []rule  `json:"rules"`
	}
	rule struct {
		ID       string   `json:"id"`
		Regex    string   `json:"regex"`
		Group    int      `json:"group,omitempty"`
		Entropy  float64  `json:"entropy,omitempty"`
		Keywords []string `json:"keywords"`
		Allow    []allow  `json:"allow,omitempty"`
	}
	allow struct {
		Match     bool     `json:"match,omitempty"` // the regexes look at the match, not at the secret
		Regexes   []string `json:"regexes,omitempty"`
		StopWords []string `json:"stopwords,omitempty"`
	}
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FILE")
		os.Exit(2)
	}
	data, err := rules()
	if err == nil {
		err = os.WriteFile(os.Args[1], data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gitleaks:", err)
		os.Exit(1)
	}
}

func rules() ([]byte, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, err
	}
	set := ruleSet{Source: module + " " + version(), Allow: allows(d.Config.Allowlists)}
	for _, id := range slices.Sorted(maps.Keys(d.Config.Rules)) {
		r := d.Config.Rules[id]
		// A rule about certain files has nothing to say of a text without a name.
		if r.Path != nil || r.Regex == nil {
			continue
		}
		if len(r.RequiredRules) > 0 || r.SkipReport || len(r.Keywords) == 0 {
			return nil, fmt.Errorf("rule %s: package redact knows no rules that need others, or that have no keywords", id)
		}
		out := rule{ID: id, Regex: r.Regex.String(), Group: r.SecretGroup, Entropy: r.Entropy, Allow: allows(r.Allowlists)}
		for _, k := range r.Keywords {
			out.Keywords = append(out.Keywords, strings.ToLower(k))
		}
		set.Rules = append(set.Rules, out)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err = enc.Encode(set)
	return b.Bytes(), err
}

// allows leaves out what looks at paths and commits, which a text has none of,
// and at whole lines: what else stands in its line is no reason to leave a
// secret, and would be a way for a source to keep its secrets visible.
func allows(lists []*config.Allowlist) []allow {
	var out []allow
	for _, l := range lists {
		if l.RegexTarget == "line" || l.MatchCondition == config.AllowlistMatchAnd {
			continue
		}
		a := allow{Match: l.RegexTarget == "match", StopWords: slices.Sorted(slices.Values(l.StopWords))}
		for _, r := range l.Regexes {
			a.Regexes = append(a.Regexes, r.String())
		}
		if len(a.Regexes)+len(a.StopWords) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "(unknown)"
}
