package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/fixtures/real"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

// TestTreeBytes holds what tree --focus and compare print of hugo's runs to a third of a
// text that has a line for each node and each node above it, all with their positions
// and two columns of indent a level. Agents read every byte of it. With TRACERAG_REAL=all
// only, since hugo takes minutes to build.
func TestTreeBytes(t *testing.T) {
	if os.Getenv("TRACERAG_REAL") != "all" {
		t.Skip("TRACERAG_REAL=all measures hugo")
	}
	p := program(t, "hugo")
	path, dir, traces := real.Install(t, p), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"hugo.toml":        "baseURL = \"https://example.com/\"\ntitle = \"Notes\"\ndisableKinds = [\"taxonomy\", \"term\", \"rss\", \"sitemap\", \"404\", \"section\"]\n",
		"layouts/all.html": "{{ .TableOfContents }}{{ .Content }}\n",
		"plain/_index.md":  "Nothing yet.\n",
		"code/_index.md":   "# A heading\n\n```text {linenos=true}\none\ntwo\nthree\n```\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range []string{"plain", "code"} {
		cmd := exec.Command(tracerag(t), slices.Concat([]string{"run", "--quiet", "--dir", traces, "--", path}, p.Args, []string{"--contentDir", content})...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("hugo is not recorded here: %v\n%s", err, out)
		}
	}
	s := &session.Session{Store: store.Open(traces)}
	open := func(o session.TreeOptions, names ...string) []*session.View {
		t.Helper()
		views, err := s.Open(names, o)
		if err != nil {
			t.Fatal(err)
		}
		return views
	}
	hold := func(what string, got, plain int) {
		t.Helper()
		t.Logf("%s: %d bytes, with all lines %d", what, got, plain)
		if 3*got > plain {
			t.Errorf("%s: %d bytes, more than a third of %d", what, got, plain)
		}
	}
	for _, focus := range []string{"highlight.highlight", "highlight.*", "tableofcontents.*"} {
		v := open(session.TreeOptions{Focus: []string{focus}}, "@last")[0]
		var got, plain bytes.Buffer
		view := calltree.View{Counts: true, Positions: true}
		if err := v.Tree.WriteText(&plain, view); err != nil {
			t.Fatal(err)
		}
		view.Compact, view.File, view.Dependency = true, v.File, v.Dependency
		if err := v.Tree.WriteText(&got, view); err != nil {
			t.Fatal(err)
		}
		hold("tree --focus="+focus, got.Len(), plain.Len())
	}
	views := open(session.TreeOptions{Compared: true}, "@prev", "@last")
	d := s.Compare(views[0], views[1], session.Ignored{}, "")
	var got bytes.Buffer
	if err := d.WriteText(&got, calltree.View{Counts: true, Positions: true, Compact: true, File: views[1].File, Dependency: views[1].Dependency}); err != nil {
		t.Fatal(err)
	}
	hold("compare", got.Len(), len(outline(d.Roots, 0)))
}

// outline has a line for each node that differs or leads to one that does, with its
// count, position and flags, and one for what is unchanged between these.
func outline(nodes []*calltree.DiffNode, depth int) string {
	var b strings.Builder
	same := 0
	unchanged := func() {
		if same > 0 {
			fmt.Fprintf(&b, "  %s[%d unchanged]\n", strings.Repeat("  ", depth), same)
		}
		same = 0
	}
	for _, n := range nodes {
		below := outline(n.Children, depth+1)
		if !n.Differs() && !strings.ContainsAny(signs(below), "~>+-?=") {
			same++
			continue
		}
		unchanged()
		f := n.Node().Func
		fmt.Fprintf(&b, "%c %s%s", " ~>+-?"[n.Change], strings.Repeat("  ", depth), calltree.ShortName(f.Name))
		if calls := n.Node().Calls; calls > 1 && (n.A == nil || n.B == nil) {
			fmt.Fprintf(&b, " x%d", calls)
		}
		fmt.Fprintf(&b, " %s:%d", filepath.Base(f.File), f.StartLine)
		for flag, word := range map[trace.Flags]string{trace.Inlined: " inlined", trace.Recursive: " recursive", trace.Via: " via"} {
			if n.Node().Flags.Has(flag) {
				b.WriteString(word)
			}
		}
		if n.Change == calltree.Changed {
			fmt.Fprintf(&b, " count %d -> %d", n.A.Calls, n.B.Calls)
		}
		b.WriteString("\n" + below)
	}
	unchanged()
	return b.String()
}

// signs are the first columns of an outline.
func signs(outline string) string {
	var b strings.Builder
	for line := range strings.Lines(outline) {
		b.WriteByte(line[0])
	}
	return b.String()
}
