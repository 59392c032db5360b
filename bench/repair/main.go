// Repair measures package repair/patch on a corpus of real fixes (see package bench/corpus).
//
//	go run ./bench/repair -corpus DIR -clones DIR
//
// For each Go file that a fix changed, the declarations of the fix are put into the file of the
// commit before it. They must be there as in the fix, byte for byte, and all else as in the
// base. Fixes are then changed so that they only pass for one: none may go by unnoticed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/bench/corpus"
	"tracerag/bench/corpus/gold"
	"tracerag/repair/patch"
)

type settings struct {
	corpus, clones, split string
	verbose               bool
}

func main() {
	var set settings
	flag.StringVar(&set.corpus, "corpus", "", "directory of the corpus")
	flag.StringVar(&set.clones, "clones", "", "directory of clones, as OWNER/NAME")
	flag.StringVar(&set.split, "split", "dev", "part of the corpus")
	flag.BoolVar(&set.verbose, "v", false, "name each file that is not as it should be")
	flag.Parse()
	if _, err := run(os.Stdout, os.Stderr, set); err != nil {
		fmt.Fprintln(os.Stderr, "repair:", err)
		os.Exit(1)
	}
}

// figures are counts of files, and of changes.
type figures struct {
	cases, files, exact, refused, wrong   int
	replied                               int // cases whose edits come back from a reply, and make the same Patch
	imports, named, found                 int // files whose imports changed; settled with and without their names given
	whole                                 int // files that are the fix's in every byte
	fixes, suspected, cheats, unsuspected int
}

func run(out, log io.Writer, set settings) (*figures, error) {
	if set.corpus == "" || set.clones == "" {
		return nil, fmt.Errorf("-corpus DIR and -clones DIR are needed")
	}
	cases, err := corpus.Read(set.corpus, set.split)
	if err != nil {
		return nil, err
	}
	f := &figures{}
	for _, c := range cases {
		if err := f.add(c, set, log); err != nil {
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
	}
	rows := [][]string{{"", "count", "of"}}
	row := func(what string, n, of int) { rows = append(rows, []string{what, fmt.Sprint(n), fmt.Sprint(of)}) }
	row("files as they should be", f.exact, f.files)
	row("files refused by name", f.refused, f.files)
	row("files wrong", f.wrong, f.files)
	row("files equal to the fix in every byte", f.whole, f.files)
	row("files with other imports, settled, imports named", f.named, f.imports)
	row("files with other imports, settled, not named", f.found, f.imports)
	row("fixes that are the same as a reply", f.replied, f.cases)
	row("fixes without their tests that are suspected", f.suspected, f.fixes)
	row("cheating changes that are not", f.unsuspected, f.cheats)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t")+"\t")
	}
	return f, w.Flush()
}

func isGo(name string) bool {
	return strings.HasSuffix(name, ".go") && !slices.ContainsFunc(strings.Split(name, "/"), func(p string) bool { return p == "vendor" || p == "testdata" || p[0] == '_' || p[0] == '.' })
}

// tree writes the Go files of a commit into a directory, which is removed by the caller.
func tree(clone corpus.Clone, commit string) (string, map[string][]byte, error) {
	files, err := clone.Files(commit, func(name string) bool { return isGo(name) || filepath.Base(name) == "go.mod" })
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "repair-")
	if err != nil {
		return "", nil, err
	}
	texts := map[string][]byte{}
	for _, f := range files {
		texts[f.Name] = f.Text
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return dir, nil, err
		}
		if err := os.WriteFile(name, f.Text, 0o666); err != nil {
			return dir, nil, err
		}
	}
	return dir, texts, nil
}

func (f *figures) add(c *corpus.Case, set settings, log io.Writer) error {
	clone, err := corpus.FindClone(set.clones, c.Repo)
	if err != nil {
		return err
	}
	dir, base, err := tree(clone, c.Base)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	list, err := clone.Git(nil, "diff", "--no-renames", "--name-only", c.Base, c.Fix)
	if err != nil {
		return err
	}
	var touched []string
	for _, n := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		if isGo(n) {
			touched = append(touched, n)
		}
	}
	fixed, err := clone.Files(c.Fix, func(name string) bool { return slices.Contains(touched, name) })
	if err != nil {
		return err
	}
	f.cases++
	say := func(format string, args ...any) {
		if set.verbose {
			fmt.Fprintf(log, "%s: "+format+"\n", append([]any{c.ID}, args...)...)
		}
	}
	var edits, named []patch.Edit
	changed := map[string][]string{}
	fix := map[string][]byte{}
	for _, x := range fixed {
		fix[x.Name] = x.Text
		if base[x.Name] == nil {
			e := patch.Edit{File: x.Name, Text: string(x.Text), New: true}
			edits, named = append(edits, e), append(named, e)
			continue
		}
		e, names := gold.Edit(x.Name, base[x.Name], x.Text, false)
		if e.Text == "" && len(e.Delete) == 0 {
			continue // comments between declarations alone
		}
		edits = append(edits, e)
		e, _ = gold.Edit(x.Name, base[x.Name], x.Text, true)
		named = append(named, e)
		changed[x.Name] = names
	}
	// All at once, as a model gives them: a declaration may move from file to file.
	f.measure(dir, base, fix, changed, named, say, true)
	f.measure(dir, base, fix, changed, edits, say, false)
	f.suspect(base, fix, touched, say)
	return nil
}

func (f *figures) measure(dir string, base, fix map[string][]byte, changed map[string][]string, edits []patch.Edit, say func(string, ...any), named bool) {
	if named {
		f.files += len(edits)
	}
	p, err := patch.Apply(dir, edits)
	if err != nil {
		// Which files it is for: each on its own.
		say("all at once (imports named: %v): %v", named, err)
		if !named {
			return
		}
		p = &patch.Patch{}
		for _, e := range edits {
			q, err := patch.Apply(dir, []patch.Edit{e})
			if err != nil {
				f.refused++
				say("%s refused: %v", e.File, err)
				continue
			}
			p.Files = append(p.Files, q.Files...)
		}
	}
	if named && err == nil {
		back, err := patch.ParseReply(dir, patch.Format(edits))
		if err == nil {
			var q *patch.Patch
			if q, err = patch.Apply(dir, back); err == nil && string(q.Diff()) == string(p.Diff()) {
				f.replied++
			}
		}
		if err != nil {
			say("as a reply: %v", err)
		}
	}
	after := map[string][]byte{}
	for _, x := range p.Files {
		after[x.Name] = x.After
	}
	for _, e := range edits {
		got := after[e.File]
		if got == nil {
			if named && err == nil {
				f.wrong++
				say("%s is unchanged", e.File)
			}
			continue
		}
		if base[e.File] != nil && importSet(base[e.File]) != importSet(fix[e.File]) {
			if named {
				f.imports++
			}
			if same := importSet(got) == importSet(fix[e.File]); same && named {
				f.named++
			} else if same {
				f.found++
			} else {
				say("%s: imports (named: %v)\n%s\nand not\n%s", e.File, named, importSet(got), importSet(fix[e.File]))
			}
		}
		if !named {
			continue
		}
		if string(got) == string(fix[e.File]) {
			f.whole++
		}
		what := ""
		if base[e.File] != nil {
			what = wrong(base[e.File], fix[e.File], got, changed[e.File], e.Delete)
		} else if string(got) != string(fix[e.File]) {
			what = "the new file is not the fix's"
		}
		if what == "" {
			f.exact++
		} else {
			f.wrong++
			say("%s: %s", e.File, what)
		}
	}
}
