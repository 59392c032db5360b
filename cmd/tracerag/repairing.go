package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tracerag/knowledge"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/locate/guided"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/record"
	"tracerag/repair"
	"tracerag/repair/affected"
	"tracerag/repair/evidence"
	"tracerag/repair/job"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
	"tracerag/summary"
	"tracerag/trace/store"
	"tracerag/visible"
)

// repairing is one fix on its way.
type repairing struct {
	*app
	*fixFlags
	knowledge *knowledgeFlags
	model     *meteredFlags
	spec      job.Spec
	end       func() error // of the transcript

	telling sync.Mutex // candidates are judged beside each other, and each says what it does
}

// repairs is the directory of all repairs.
func (a *app) repairs() (string, error) {
	s, err := a.store()
	if err != nil {
		return "", err
	}
	return filepath.Join(s.Dir(), "fixes"), nil
}

// options are those of a repair, with what every trial needs.
func (r *repairing) options() (o job.Options, err error) {
	kept, err := r.repairs()
	if err != nil {
		return o, err
	}
	if r.resume {
		if r.spec, err = job.Last(kept); err != nil {
			return o, err
		}
	}
	r.masker().LearnText(r.spec.Report)
	self, err := os.Executable()
	return job.Options{Spec: r.spec, Kept: kept, Wait: func() { r.note("another tracerag repairs here: waiting for it") }, Step: r.step, Note: func(what string) { r.note("%s", visible.Line(what)) },
		Choosing: job.Choosing{Record: testsRecorder(self)},
		Trial:    trial.Options{Limits: r.limits.limits(), Note: r.hear, Run: sandbox.New([]string{self, sandboxArg}).Run}}, err
}

func (r *repairing) run(ctx context.Context) (code int, err error) {
	if r.candidate != "" {
		return r.judged(ctx)
	}
	o, err := r.options()
	if err != nil {
		return 0, err
	}
	known, err := r.app.knowledge(ctx, r.knowledge, filepath.Dir(o.Kept))
	if err != nil {
		return 0, err
	}
	defer func() { _ = known.Close() }()
	model, err := r.equip(ctx, &o, known)
	if r.end != nil {
		defer func() { err = errors.Join(err, r.end()) }()
	}
	if err != nil {
		return 0, err
	}
	j, err := job.Open(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	defer r.stepped()
	r.left(j.Left())
	b, err := j.Baseline(ctx)
	r.stepped()
	if err != nil {
		return 0, err
	}
	r.before(b)
	return r.change(ctx, j, model)
}

// equip adds what a repair needs beside a trial: the model (nil: none is configured), what records, and
// what looks for places.
func (r *repairing) equip(ctx context.Context, o *job.Options, known knowledge.Store) (*metered.Model, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	repository, err := r.repository(ctx, known)
	if err != nil {
		return nil, err
	}
	how := r.spec.How
	model, end, err := r.told(r.model, known)
	switch {
	case errors.Is(err, llm.ErrNotConfigured):
		model, how, err = nil, guided.Words, nil
	case err == nil:
		r.end = end
		err = model.Affordable("repair code")
	}
	o.Repository, o.Record = repository.Root, recorder(self)
	o.Collector = func(s *store.Store) *evidence.Collector { return r.collector(s, known, repository, model, how) }
	return model, err
}

// step shows what takes long.
func (r *repairing) step(what string) {
	r.stepped()
	r.telling.Lock()
	defer r.telling.Unlock()
	r.done = r.wait(what)
}

// hear prints a message of one of several goroutines.
func (r *repairing) hear(message string) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.note("%s", visible.Line(message))
}

func (r *repairing) stepped() {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.done != nil {
		r.done()
		r.done = nil
	}
}

// left prints what the copy lacks.
func (r *repairing) left(all []string) {
	all = slices.DeleteFunc(all, func(l string) bool { return strings.HasPrefix(l, store.DirName) })
	const most = 5
	for _, l := range all[:min(len(all), most)] {
		r.note("not in the copy: %s", visible.Line(l))
	}
	if more := len(all) - most; more > 0 {
		r.note("not in the copy: %d more", more)
	}
}

// before says what the tests do before any change.
func (r *repairing) before(b *trial.Baseline) {
	if flaky := b.Flaky(); len(flaky) > 0 {
		r.note("%s flaky and %s: %s", phrase.Plural(len(flaky), "test is", "tests are"), "not counted", visible.Line(names(flaky)))
	}
	if failing := b.Failing(); len(failing) > 1 {
		r.note("%s before any change, and may fail: %s", phrase.Plural(len(failing), "test fails", "tests fail"), visible.Line(names(failing)))
	}
}

// names lists a few tests.
func names(tests []trial.TestID) string {
	const most = 5
	var list []string
	for _, t := range tests[:min(len(tests), most)] {
		list = append(list, t.String())
	}
	if more := len(tests) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// repository is the one around, which is indexed.
func (r *repairing) repository(ctx context.Context, s knowledge.Store) (*knowledge.Repository, error) {
	list, err := s.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	dir := r.spec.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	var found *knowledge.Repository
	for i := range list {
		if rel, err := filepath.Rel(list[i].Root, dir); err == nil && filepath.IsLocal(rel) && (found == nil || len(list[i].Root) > len(found.Root)) {
			found = &list[i]
		}
	}
	if found == nil {
		return nil, noProject(r.spec.Dir)
	}
	return found, nil
}

// collector collects evidence from the runs of a repair.
func (r *repairing) collector(traces *store.Store, s knowledge.Store, repository *knowledge.Repository, model *metered.Model, how guided.How) *evidence.Collector {
	c := &evidence.Collector{Session: r.session(traces), How: how, Repository: repository, RunTokens: prompt.LongFrom / 4,
		Guide: &guided.Guide{Store: s, Model: model, Search: guided.DefaultSearch, Secrets: r.masker()}}
	c.Guide.Options.Limit = evidence.MostPlaces
	if model != nil {
		c.Guide.Book = &summary.Book{Store: s, Kept: s, Model: model.Name()}
		c.RunTokens = min(c.RunTokens, repair.RunTokens(model))
		c.Prompt.Model = model.Name()
	}
	return c
}

// change repairs.
func (r *repairing) change(ctx context.Context, j *job.Job, model *metered.Model) (int, error) {
	found, err := j.Evidence(ctx)
	r.stepped()
	if found == nil {
		return 0, err
	}
	for _, n := range found.Notes {
		r.note("%s", visible.Line(n))
	}
	if err != nil {
		return 0, err
	}
	r.note("places:%s", evidenceText(found))
	rounds := r.spec.Rounds
	if rounds == 0 {
		rounds = -1 // 0 would be the default
	}
	f := &repair.Fixer{Model: model, Options: repair.Options{Candidates: r.spec.Candidates, Rounds: rounds, Parallel: r.model.limits.Parallel}, Learn: r.masker().LearnText, Masks: func(s string) bool { return r.masker().Clean(s) != s }, Tell: func(c *repair.Candidate) { r.hear(c.Text()) }}
	if model == nil {
		return r.prepared(j, f, found)
	}
	if r.spec.Test == "" {
		test, err := j.Reproduce(ctx, f, found)
		r.stepped()
		if err != nil {
			return 0, err
		}
		r.note("%d of %d tests that were written from the report fail in the same way, as this one does:\n%s", test.Votes, test.Asked, visible.Text(test.Test.Source))
		if found, err = j.Evidence(ctx); err != nil {
			return 0, err
		}
		r.stepped()
	}
	result, err := j.Fix(ctx, f, found.Task)
	r.stepped()
	if result == nil {
		return 0, err
	}
	for _, n := range result.Notes {
		r.note("%s", visible.Line(n))
	}
	r.note("%s: %s", model.Name(), result.Totals)
	if err != nil && result.Chosen == nil {
		return 0, err
	}
	if err := r.printResult(j, found, result); err != nil {
		return 0, err
	}
	if result.Chosen == nil {
		return exitFailure, nil
	}
	return exitOK, r.applied(ctx, j.Root(), result.Chosen.Patch)
}

// printResult prints the change.
func (r *repairing) printResult(j *job.Job, found *evidence.Found, result *repair.Result) error {
	said := saidFix{Schema: fixSchema, ID: j.ID, Report: r.spec.Report, Test: found.Task.Test, Places: found.Task.Places, Result: result, Notes: found.Notes}
	if c := result.Chosen; c != nil {
		said.Diff = c.Diff
		r.note("candidate %d: %s", c.Number, result.Why)
	} else {
		r.complain("no change was accepted: tracerag fix --show=%s prints what was tried", j.ID)
	}
	if r.json {
		return r.printJSON(said)
	}
	_, err := fmt.Fprint(r.stdout, said.Diff)
	return err
}

// prepared prints what a model would be asked, where none is configured.
func (r *repairing) prepared(j *job.Job, f *repair.Fixer, found *evidence.Found) (int, error) {
	f.Model = metered.New(metered.Options{Window: prompt.LongFrom, Count: tokens.For("").Count})
	instructions, text, notes, err := f.Question(found.Task)
	for _, n := range notes {
		r.note("%s", visible.Line(n))
	}
	if err != nil {
		return 0, err
	}
	r.note("no language model is configured: this is the question. Judge an answer to it by tracerag fix --candidate FILE%s", r.sameTest())
	_, err = fmt.Fprint(r.stdout, instructions+"\n\n"+r.masker().Clean(text))
	return exitOK, err
}

func (r *repairing) sameTest() string {
	if r.test == "" {
		return ""
	}
	return " --test " + phrase.Quote(r.test)
}

// lastRepair is the value of --show that means the last repair.
const lastRepair = "last"

// showRepair prints what became of a repair.
func (a *app) showRepair(x *fixFlags) int {
	kept, err := a.repairs()
	if err != nil {
		return a.fail(err)
	}
	id := x.show
	if id == lastRepair {
		id = ""
	}
	result, err := job.Load(kept, id)
	if err != nil {
		return a.fail(err)
	}
	if x.json {
		err = a.printJSON(result)
	} else {
		_, err = fmt.Fprint(a.stdout, visible.Text(result.String()))
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// recorder records a test by this program, in the sandbox of the copy.
func recorder(self string) func(context.Context, job.Recording) (string, error) {
	return func(ctx context.Context, r job.Recording) (string, error) {
		tool, err := r.Copy.Tool(self)
		if err != nil {
			return "", err
		}
		args := []string{tool, "run", "--quiet", "--dir=" + r.Store}
		pattern := job.Pattern(r.Test)
		if len(r.Siblings) > 0 {
			args = append(args, "--each=2")
			top, _, _ := strings.Cut(r.Test, "/")
			pattern = "^(" + strings.Join(append([]string{top}, r.Siblings...), "|") + ")$"
		}
		if len(r.Values) > 0 && record.HasProbe() {
			// What is built in the sandbox is forgotten, so a standard library with the recorder in it would be built each time.
			args = append(args, "--recorder="+record.Probe)
		}
		for _, f := range r.Values {
			args = append(args, "--values="+f)
		}
		args = append(args, "--", r.Copy.Go(), "test", "-count=1", "-vet=off", "-run="+pattern, ".")
		_, said, err := r.Copy.Run(ctx, r.Directory, args, nil, r.Store)
		return said, err
	}
}

// testsArg makes this program record tests, in the sandbox of a copy.
const testsArg = "__tests"

// recordTests is what this program does there.
func recordTests(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitRunFailed
	}
	return affected.Inner(context.Background(), []string{self, testsArg}, args)
}

// testsRecorder records test programs by this program, in the sandbox of the copy.
func testsRecorder(self string) func(context.Context, *trial.Copy, string) (string, error) {
	return func(ctx context.Context, c *trial.Copy, dir string) (string, error) {
		tool, err := c.Tool(self)
		if err != nil {
			return "", err
		}
		_, said, err := c.Run(ctx, ".", []string{tool, testsArg, dir}, nil, dir)
		return said, err
	}
}
