package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
	"tracerag/prompt/tokens"
)

// TestExperimentPrompts makes the prompts of the experiments in fixtures/experiments,
// those on hugo if TRACERAG_REAL=all, and holds them to what the default variant
// promises: the functions of full, in three quarters of its tokens at most, and a
// tree that is a tenth of it at most.
func TestExperimentPrompts(t *testing.T) {
	if testing.Short() {
		t.Skip("installs programs")
	}
	dir := filepath.Join(fixtures.Dir("tablecat"), "..", "experiments")
	args := []string{"eval", "experiment", "--quiet", "--prompts-only", "--out", t.TempDir(), filepath.Join(dir, "tablecat.yaml")}
	inquiries := 4
	for _, p := range real.Selected() {
		if _, err := os.Stat(filepath.Join(dir, p.Name+".yaml")); err == nil {
			real.Install(t, p) // which skips the test where nothing can be downloaded
			args = append(args, filepath.Join(dir, p.Name+".yaml"))
			inquiries += 4
		}
	}
	out := args[5]
	printed, err := exec.Command(tracerag(t), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	report := string(printed)
	for _, table := range []string{"as the paper's table 8", "as the paper's table 9"} {
		if !strings.Contains(report, table) {
			t.Errorf("the report has nothing %s", table)
		}
	}
	prompts, err := filepath.Glob(filepath.Join(out, "prompts", "*", "*.full.md"))
	if err != nil || len(prompts) != inquiries {
		t.Fatalf("%d inquiries have prompts, %v, want %d", len(prompts), err, inquiries)
	}
	count := tokens.For("gpt-4o")
	sum := map[string]int{}
	for _, full := range prompts {
		text := map[string]string{}
		for _, variant := range []string{"full", "A", "C", "CA", "T", "ordered"} {
			data, err := os.ReadFile(strings.TrimSuffix(full, "full.md") + variant + ".md")
			if err != nil {
				t.Fatal(err)
			}
			text[variant] = string(data)
			sum[variant] += count.Count(text[variant])
		}
		want := sources(text["full"])
		for _, variant := range []string{"A", "C", "CA", "ordered"} {
			if got := sources(text[variant]); !slices.Equal(got, want) {
				t.Errorf("%s: %s has %d functions, full %d", filepath.Base(full), variant, len(got), len(want))
			}
		}
		if len(want) < 10 || len(sources(text["T"])) != 0 {
			t.Errorf("%s has %d functions, and T %d", filepath.Base(full), len(want), len(sources(text["T"])))
		}
	}
	t.Logf("tokens over %d inquiries: %v", inquiries, sum)
	if 4*sum["ordered"] > 3*sum["full"] {
		t.Errorf("ordered has %d tokens, full %d", sum["ordered"], sum["full"])
	}
	if 10*sum["T"] >= sum["full"] {
		t.Errorf("the trees have %d tokens, full %d", sum["T"], sum["full"])
	}
}

var sourceHeading = regexp.MustCompile(`(?m)^#{2,4} (.*\.(?:go|s):\d+(?:-\d+)?.*)$`)

// sources are the headings of the functions' sources in a prompt, each once.
func sources(prompt string) []string {
	var all []string
	for _, m := range sourceHeading.FindAllStringSubmatch(prompt, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}
