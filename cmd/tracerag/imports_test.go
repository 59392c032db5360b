package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers is the architecture: for each package which others of ours it may
// import, tests not counted. Arrows point down; docs/architecture.md says why.
// A package that is not listed here fails the test, so that it finds its place.
var layers = map[string][]string{
	"trace/symbol":            {},
	"trace/executable":        {"trace/symbol"},
	"trace":                   {"trace/symbol"},
	"trace/target":            {"trace", "trace/executable"},
	"trace/breakpoint":        {"trace", "trace/executable", "trace/target", "trace/breakpoint/values"},
	"trace/breakpoint/values": {"trace", "trace/notation", "trace/symbol"},
	"trace/notation":          {"trace/symbol"},
	"trace/gocmd":             {},

	"trace/probe/ptrace":          {},
	"trace/probe/patch/x86":       {},
	"trace/probe/patch/flow":      {"trace/probe/patch/x86"},
	"trace/probe/patch/lines":     {"trace/executable", "trace/probe/patch/flow", "trace/probe/patch/x86"},
	"trace/probe/patch/plan":      {"trace/executable", "trace/probe/patch/x86"},
	"trace/probe/patch/stubs":     {"trace/probe/patch/plan", "trace/probe/patch/x86"},
	"trace/probe/patch":           {"trace/executable", "trace/probe/patch/flow", "trace/probe/patch/lines", "trace/probe/patch/plan", "trace/probe/patch/x86"},
	"trace/probe/patch/patchtest": {"trace/executable", "fixtures"},
	"trace/probe/payload":         {},
	"trace/probe/payload/source":  {},
	"trace/probe/payload/gen":     {"trace/probe/payload/source"},
	"trace/rebuild/captured":      {"trace", "trace/notation"},
	"trace/rebuild":               {"trace", "trace/executable", "trace/probe", "trace/probe/patch/plan", "trace/probe/payload", "trace/rebuild/captured", "trace/target"},
	"trace/probe":                 {"trace", "trace/executable", "trace/target", "trace/probe/ptrace", "trace/probe/patch", "trace/probe/patch/lines", "trace/probe/patch/plan", "trace/probe/patch/stubs", "trace/probe/payload"},

	"locate":                  {"code", "code/words", "knowledge", "knowledge/lookup", "parallel", "phrase", "rank", "trace/symbol", "visible"},
	"knowledge/knowledgetest": {"code", "code/words", "knowledge", "knowledge/rows"},
	"bench/locating":          {"bench/corpus", "bench/corpus/gold", "code", "code/calls", "eval/retrieval", "knowledge", "knowledge/index", "knowledge/knowledgetest", "llm", "llm/metered", "locate", "locate/guided", "llm/throttle", "locate/treesearch", "prompt/tokens", "rank", "repair", "repair/evidence", "repair/patch", "repair/trial", "summary"},

	"trace/recordtest":        {"trace", "trace/store", "trace/symbol", "trace/target"},
	"trace/profiles":          {"trace", "trace/symbol", "trace/target"},
	"trace/store":             {"atomicfile", "phrase", "trace"},
	"calltree":                {"code/words", "trace", "trace/symbol", "visible"},
	"source":                  {"code", "parallel", "trace/symbol"},
	"code":                    {},
	"code/calls":              {"code"},
	"code/words":              {},
	"knowledge":               {"code"},
	"knowledge/rows":          {"code", "code/words", "knowledge"},
	"knowledge/sqlite":        {"code", "knowledge", "knowledge/rows"},
	"knowledge/postgres":      {"code", "knowledge", "knowledge/rows"},
	"knowledge/stores":        {"code", "filelock", "knowledge", "knowledge/index", "knowledge/lookup", "knowledge/postgres", "knowledge/rows", "knowledge/sqlite"},
	"jobs":                    {"code", "knowledge", "knowledge/index", "knowledge/postgres", "llm", "llm/metered", "llm/throttle", "locate", "phrase", "repair/patch", "repair/sandbox", "repair/trial", "summary", "trace/store"},
	"jobs/monitor":            {"jobs"},
	"knowledge/lookup":        {"code", "knowledge", "trace/symbol", "visible"},
	"knowledge/sources":       {"knowledge", "knowledge/index", "knowledge/lookup", "locate"},
	"knowledge/index":         {"code", "code/calls", "code/words", "filelock", "knowledge", "phrase", "trace", "trace/store", "trace/symbol", "visible"},
	"locate/guided":           {"code", "code/words", "knowledge", "knowledge/lookup", "llm/metered", "locate", "locate/treesearch", "rank", "summary", "visible"},
	"locate/treesearch":       {},
	"summary":                 {"code", "knowledge", "llm", "llm/metered", "llm/throttle", "phrase", "visible"},
	"redact":                  {"code/words", "parallel", "redact/rules"},
	"redact/rules":            {},
	"redact/redacttest":       {},
	"repair/affected":         {"atomicfile", "code", "record", "repair/patch", "trace", "trace/gocmd", "trace/store", "trace/symbol"},
	"repair/patch":            {"atomicfile", "code"},
	"repair":                  {"code", "llm/metered", "llm/throttle", "locate/guided", "phrase", "repair/patch", "repair/trial", "visible"},
	"repair/evidence":         {"calltree", "code", "knowledge", "locate", "locate/guided", "prompt", "repair", "session"},
	"repair/job":              {"atomicfile", "filelock", "locate/guided", "phrase", "repair", "repair/affected", "repair/evidence", "repair/patch", "repair/trial", "trace/store"},
	"repair/sandbox":          {},
	"repair/trial":            {"atomicfile", "filelock", "phrase", "repair/patch", "repair/sandbox"},
	"export":                  {"calltree", "phrase", "trace", "trace/symbol"},
	"output":                  {"redact", "visible"},
	"session":                 {"atomicfile", "calltree", "code", "knowledge", "locate", "phrase", "prompt", "prompt/tokens", "rank", "redact", "source", "trace", "trace/store", "trace/symbol", "visible"},
	"prompt/tokens":           {},
	"prompt":                  {"code/words", "phrase", "calltree", "source", "trace", "trace/symbol", "prompt/tokens", "visible", "parallel"},
	"visible":                 {},
	"memory":                  {},
	"parallel":                {},
	"phrase":                  {},
	"answer":                  {"llm", "phrase", "prompt", "prompt/tokens", "session", "trace/store"},
	"completion":              {"calltree", "phrase", "session", "trace/symbol"},
	"doctor":                  {"phrase", "record", "repair/sandbox", "session", "trace", "trace/executable", "trace/probe", "trace/store", "trace/target"},
	"terminal":                {"output", "phrase", "visible"},
	"atomicfile":              {},
	"filelock":                {},
	"record":                  {"atomicfile", "calltree", "phrase", "trace", "trace/breakpoint", "trace/executable", "trace/gocmd", "trace/probe", "trace/rebuild", "trace/store", "trace/target"},
	"llm":                     {},
	"rank":                    {"calltree", "code", "code/words", "source", "trace", "trace/symbol"},
	"llm/llmtest":             {},
	"fixtures":                {},
	"fixtures/random":         {"fixtures"},
	"fixtures/real":           {"fixtures"},
	"bench":                   {},
	"bench/corpus":            {"knowledge/index"},
	"bench/corpus/corpustest": {},

	"knowledge/postgres/postgrestest": {},
	"bench/corpus/gold":               {"code", "repair/patch"},
	"bench/ranking":                   {"bench/corpus", "code", "eval/retrieval", "fixtures/real", "prompt", "prompt/tokens", "rank", "session", "trace/store"},
	"bench/table":                     {},
	"bench/summaries":                 {"bench/corpus", "knowledge/knowledgetest", "knowledge/sqlite", "llm", "llm/metered", "prompt/tokens", "summary"},
	"bench/edges":                     {"code", "code/calls", "trace"},
	"bench/affected":                  {"code", "repair/affected"},
	"bench/trials":                    {"bench/corpus", "code", "phrase", "repair/patch", "repair/sandbox", "repair/trial"},
	"bench/repair":                    {"bench/corpus", "bench/corpus/gold", "code", "repair/patch"},

	"viewer":             {"calltree", "knowledge", "knowledge/lookup", "locate", "phrase", "prompt", "session", "source", "trace", "trace/symbol", "viewer/guard", "viewer/highlight", "viewer/site"},
	"viewer/browsertest": {},
	"viewer/catalog":     {"code/words", "knowledge", "knowledge/lookup", "locate", "summary", "trace", "trace/symbol", "viewer/guard", "viewer/highlight", "viewer/site"},
	"viewer/guard":       {},
	"viewer/highlight":   {},
	"viewer/site":        {},

	"fixtures/experiments": {},

	"eval":           {"code/words", "prompt", "trace/symbol"},
	"eval/report":    {"eval", "phrase"},
	"eval/results":   {"atomicfile", "eval", "filelock"},
	"eval/retrieval": {},
	"eval/locating":  {"eval/results", "eval/retrieval", "knowledge", "knowledge/index", "knowledge/lookup", "knowledge/sqlite", "knowledge/stores", "llm", "llm/metered", "llm/throttle", "locate", "locate/guided", "phrase", "summary", "visible"},
	"llm/metered":    {"llm", "llm/throttle"},
	"llm/throttle":   {},
	"eval/trial":     {"atomicfile", "calltree", "eval", "eval/report", "eval/results", "llm/metered", "llm/throttle", "llm", "phrase", "prompt", "prompt/tokens", "record", "session", "source", "trace", "trace/symbol"},

	"mcp": {"calltree", "knowledge", "knowledge/lookup", "locate", "prompt", "prompt/tokens", "rank", "session", "source", "trace", "trace/store", "trace/symbol", "visible"},

	"cmd/tracerag": everything,
}

// everything is for those who put all parts together.
var everything = []string{"everything"}

// only lists packages of others that a few of ours alone may import.
var only = map[string][]string{
	"github.com/go-delve/delve":         {"trace/breakpoint", "trace/breakpoint/values"},
	"github.com/zricethezav/gitleaks":   {"redact/rules"},
	"github.com/pelletier/go-toml":      {"redact/rules"},
	"github.com/sashabaranov/go-openai": {"llm"},
	"github.com/pkoukk/tiktoken-go":     {"prompt/tokens"},
	"github.com/google/pprof":           {"trace", "trace/profiles"},
	"github.com/kljensen/snowball":      {"code/words"},
	"github.com/spf13/pflag":            {"completion", "cmd/tracerag"},
	"modernc.org/sqlite":                {"knowledge/sqlite"},
	"github.com/jackc":                  {"jobs", "knowledge/postgres", "knowledge/postgres/postgrestest"},
	"github.com/riverqueue":             {"jobs"},
	"go.yaml.in/yaml":                   {"bench/ranking", "eval", "eval/locating"},
	"github.com/modelcontextprotocol":   {"mcp"},
	"github.com/kballard/go-shellquote": {"phrase"},
	"gonum.org/v1/gonum":                {"eval/report"},
	"golang.org/x/tools":                {"code/calls"},
	"github.com/bluekeyes/go-gitdiff":   {"repair/patch"},
	"net/http":                          {"jobs/monitor", "llm", "llm/llmtest", "viewer", "viewer/catalog", "viewer/guard", "viewer/site"},
	"testing":                           {"bench/corpus/corpustest", "fixtures", "fixtures/random", "fixtures/real", "knowledge/knowledgetest", "knowledge/postgres/postgrestest", "llm/llmtest", "trace/recordtest", "trace/probe/patch/patchtest", "viewer/browsertest"},
	"os/exec":                           {"code/calls", "jobs", "repair/patch", "repair/sandbox", "repair/trial", "knowledge/index", "knowledge/postgres/postgrestest", "terminal", "eval/trial", "record", "trace/target", "trace/gocmd", "trace/probe/ptrace", "source", "trace/rebuild", "bench/corpus", "bench/corpus/corpustest", "bench/affected", "bench/ranking", "bench/trials", "fixtures", "fixtures/random", "fixtures/real", "trace/recordtest", "viewer/browsertest", "cmd/tracerag"},
}

func TestImportsPointDownwards(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "tracerag/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, "tracerag/")
		seen[name] = true
		allowed, ok := layers[name]
		if !ok {
			t.Errorf("package %s has no place in the architecture: give it one in this test and in docs/architecture.md", name)
			continue
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, "tracerag/"); ok && !slices.Equal(allowed, everything) && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s", name, ours)
			}
			for other, users := range only {
				if (imp == other || strings.HasPrefix(imp, other+"/")) && !slices.Contains(users, name) {
					t.Errorf("%s imports %s, which is for %s", name, imp, strings.Join(users, ", "))
				}
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("there is no package %s any more", name)
		}
	}
}
