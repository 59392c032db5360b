package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzArguments: whatever an agent sends, the answer is a result of the tool, within
// its budget, and the session goes on.
func FuzzArguments(f *testing.F) {
	for _, seed := range []struct{ tool, in string }{
		{"call_tree", `{"trace":"c5c5c5c5","focus":"#3-1","depth":2,"max_tokens":300}`},
		{"call_tree", `{"focus":"#99999999999999999999"}`},
		{"source", `{"function":"*","from_line":-5,"max_tokens":200}`},
		{"source", `{"function":"#3","from_line":9223372036854775807}`},
		{"rank", `{"question":"\u0000","limit":1000000}`},
		{"compare", `{"a":"c5c5c5c5","focus":"[]"}`},
		{"values", `{"trace":"c5c5c5c5","function":"(*"}`},
		{"record", `{"command":["",""],"dir":"\u0000"}`},
		{"list_traces", `{"skip":9223372036854775807}`},
		{"prompt", `[]`},
		{"call_tree", `{"depth":1e300}`},
	} {
		f.Add(seed.tool, []byte(seed.in))
	}
	c := client(f, Options{Record: recorder})
	f.Fuzz(func(t *testing.T, tool string, in []byte) {
		switch tool {
		case "call_tree", "source", "rank", "compare", "values", "record", "list_traces", "prompt":
		default:
			t.Skip()
		}
		if !json.Valid(in) {
			t.Skip()
		}
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(in)})
		if err != nil {
			// Arguments that are no object are the protocol's to refuse.
			if s := strings.TrimSpace(string(in)); strings.HasPrefix(s, "{") {
				t.Fatalf("%s %s: %v", tool, in, err)
			}
			if err := c.Ping(t.Context(), nil); err != nil {
				t.Fatalf("%s %s ends the session: %v", tool, in, err)
			}
			return
		}
		if len(res.Content) != 1 || res.Content[0].(*sdk.TextContent).Text == "" {
			t.Fatalf("%s %s: %+v", tool, in, res.Content)
		}
	})
}

// FuzzInside: no name leads out of the directory.
func FuzzInside(f *testing.F) {
	root := f.TempDir()
	dir := filepath.Join(root, "work")
	for _, d := range []string{filepath.Join(dir, "sub"), filepath.Join(root, "work2")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for _, name := range []string{"work/a.pb.gz", "work/sub/b.pb.gz", "work2/c.pb.gz", "d.pb.gz"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			f.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": root, "up": "..", "in": "sub", "file.pb.gz": "../d.pb.gz", "loop": "loop"} {
		_ = os.Symlink(to, filepath.Join(dir, link))
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"a.pb.gz", "in/b.pb.gz", "out/d.pb.gz", "up/d.pb.gz", "../work2/c.pb.gz", "./../work/a.pb.gz", "file.pb.gz", "loop/x.pb.gz", "in/../../d.pb.gz", "", "/", "\x00.pb.gz", "work2", root + "/work2/c.pb.gz"} {
		f.Add(seed)
	}
	s := &server{Options: Options{Dir: dir}}
	f.Fuzz(func(t *testing.T, name string) {
		path, err := s.inside(name)
		if err != nil {
			return
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real != path || path != resolved && !strings.HasPrefix(path, resolved+string(filepath.Separator)) {
			t.Errorf("%q is %q, and that is %q (%v)", name, path, real, err)
		}
	})
}

func FuzzTreeURI(f *testing.F) {
	for _, seed := range []string{"tracerag://trace/ab12/tree", "tracerag://trace/%40last/tree", "tracerag://trace/..%2f/tree", "tracerag://trace/tree"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if id, ok := parseTreeURI(uri); ok && (id == "" || strings.ContainsAny(id, `/\`)) {
			t.Errorf("%q names the trace %q", uri, id)
		}
	})
}
