package job

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tracerag/repair"
	"tracerag/repair/evidence"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/trace/store"
)

// Evidence records the failing test and says what it is about. With an error there may be what was found
// until then.
func (j *Job) Evidence(ctx context.Context) (*evidence.Found, error) {
	traces := store.Open(j.Path("traces"))
	if err := os.MkdirAll(traces.Dir(), 0o700); err != nil {
		return nil, err
	}
	c := j.o.Collector(traces)
	var test repair.Test
	if j.test.Name != "" {
		var err error
		if test, err = j.wantedTest(ctx); err != nil {
			return nil, err
		}
	}
	run, recorded := "", error(nil)
	if j.o.Record != nil && test.Name != "" {
		run, recorded = j.record(ctx, traces, j.base(), "before", test.Siblings)
		if recorded != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	j.step("looking for the places")
	found, err := c.Collect(ctx, j.o.Spec.Report, test, run, j.trial.Snapshot())
	if found == nil {
		return nil, err
	}
	found.Task.Also = j.also
	if recorded != nil {
		found.Note("the test was not recorded, so the source alone tells: %v", recorded)
	}
	below, wrong := filepath.Rel(j.trial.Root(), j.o.Repository)
	if wrong != nil || !filepath.IsLocal(below) {
		return nil, fmt.Errorf("the index is of %s, which is not in %s", j.o.Repository, j.trial.Root())
	}
	for i := range found.Task.Places {
		p := &found.Task.Places[i]
		p.File = path.Join(filepath.ToSlash(below), p.File)
	}
	if err == nil && run != "" {
		found.Task.Run, err = c.Show(found, j.withValues(ctx, traces, run, found), j.trial.Snapshot())
	}
	return found, err
}

// withValues records the test again, with arguments and results of the functions that it is most likely
// about, and returns the name of the trace; that of the first run if this fails.
func (j *Job) withValues(ctx context.Context, traces *store.Store, run string, found *evidence.Found) string {
	if len(found.Ran) == 0 {
		return run
	}
	again, err := j.record(ctx, traces, j.base(), "values", nil, found.Ran...)
	if err != nil {
		found.Note("arguments and results were not observed: %v", err)
		return run
	}
	return again
}

// base is the tree with the test that was written from the report.
func (j *Job) base() patch.Patch {
	if j.also == nil {
		return patch.Patch{}
	}
	return *j.also
}

// Reproduce has a test written from the report, which is the wanted one from then on, and part of each
// change. found is the evidence without a test.
func (j *Job) Reproduce(ctx context.Context, f *repair.Fixer, found *evidence.Found) (*repair.Reproduction, error) {
	if len(found.Task.Places) == 0 {
		return nil, repair.ErrNoPlace
	}
	directory := path.Dir(found.Task.Places[0].File)
	r, err := f.Reproduce(ctx, found.Task, func(ctx context.Context, p *patch.Patch, t repair.Test) (bool, string, error) {
		output, err := j.output(ctx, *p, directory, t.Name)
		return strings.Contains(output, "--- FAIL: "+t.Name) || strings.Contains(output, "\npanic: ") || strings.HasPrefix(output, "panic: "), output, err
	})
	if err != nil {
		return nil, err
	}
	w, _, err := j.trial.Resolve(trial.TestID{Package: directoryOf(j.trial.Root(), j.o.Spec.Dir, directory), Name: r.Test.Name})
	if err != nil {
		return nil, err
	}
	r.Test.Package = w.Package
	j.test, j.directory, j.also, j.reproduced = w, directory, r.Patch, r.Test
	return r, replace(j.Path("test.go.txt"), []byte(r.Test.Source))
}

// directoryOf names a directory of the tree as the go command would be told in another one.
func directoryOf(root, from, directory string) string {
	rel, err := filepath.Rel(from, filepath.Join(root, filepath.FromSlash(directory)))
	if err != nil {
		return directory
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

// wantedTest reads the wanted test's source, and how it fails.
func (j *Job) wantedTest(ctx context.Context) (repair.Test, error) {
	if j.also != nil {
		return j.reproduced, nil
	}
	entries, err := os.ReadDir(filepath.Join(j.trial.Snapshot(), filepath.FromSlash(j.directory)))
	if err != nil {
		return repair.Test{}, err
	}
	var files []string
	for _, e := range entries {
		files = append(files, path.Join(j.directory, e.Name()))
	}
	t, err := evidence.TestOf(j.trial.Snapshot(), j.directory, j.test.Package, j.test.Name, files)
	if err != nil {
		return t, err
	}
	t.Output, err = j.output(ctx, patch.Patch{}, j.directory, j.test.Name)
	return t, err
}
