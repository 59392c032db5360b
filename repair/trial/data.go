package trial

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/repair/patch"
)

// keepData has the change tried without what it does to existing files that are no sources, since tests
// may read there what is right. What code embeds is the program's own. New files stay: the tests that
// were there do not know them.
func (j *judgement) keepData(ctx context.Context) (bool, error) {
	t := j.slot.trial
	rest := patch.Patch{}
	for _, f := range j.patch.Files {
		if f.Before == nil || goReads(f.Name) || j.embedded(f.Name) ||
			t.options.Allow != nil && t.options.Allow(patch.Reason{Kind: patch.TestData, File: f.Name, What: "tests may read it"}) {
			rest.Files = append(rest.Files, f)
		} else {
			j.verdict.Kept = append(j.verdict.Kept, f.Name)
		}
	}
	if len(j.verdict.Kept) == 0 {
		return true, nil
	}
	if empty(rest) {
		j.verdict.Stage = Guard
		return j.refuse("it changes nothing but " + strings.Join(j.verdict.Kept, ", ") + ", and tests may read that")
	}
	j.state = t.base.with(rest)
	return true, j.state.settle(ctx, j.slot.root)
}

// embedded reports whether the code has a file in its programs.
func (j *judgement) embedded(name string) bool {
	file := filepath.Join(j.slot.root, filepath.FromSlash(name))
	return slices.ContainsFunc(j.list, func(p *pkg) bool {
		rel, err := filepath.Rel(p.Dir, file)
		return err == nil && slices.Contains(p.EmbedFiles, filepath.ToSlash(rel))
	})
}
