package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"tracerag/atomicfile"
	"tracerag/calltree"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
	"tracerag/trace/target"
	"tracerag/visible"
)

const runHelp = `
run runs a compiled Go program and records its calls. The program keeps standard
input, output and error, the terminal, its signals and its exit code. It needs no
rebuild, no symbols and no privileges; on linux/amd64 it runs at nearly full speed.

  tracerag run -- ./app --csv data.csv
  tracerag run --baseline=--version -- ./app --csv data.csv    without what every start does
  tracerag run --values -- ./app --csv data.csv                arguments and results, too
  tracerag run -q "which function draws the border?" -- ./app --csv data.csv
  tracerag run -- go run ./cmd/app --csv data.csv
  tracerag run -- go test -run Border ./table
  tracerag run -- ./cmd/app --csv data.csv                     a package; exits as its program does
  tracerag run --each -- go test ./...                         a trace for each test

The last four are built without inlining outside the standard library (-gcflags,
added to yours), so that every call in the source is counted. Otherwise the go command
builds and runs them as usual. The exit code is the go command's: go run ends with 1
when the program fails.

go test makes a trace for each package. --each makes a trace for each test, example,
fuzz target (with its seeds) and, with -bench, benchmark. The program is built once
and started for each of them; a run without any test (TestMain) is their baseline. A
trace is named after its test: tracerag tree TestFit.

--include and --exclude take the go command's patterns: ./..., github.com/x/...,
std, all, main. By default everything outside the standard library is recorded.

Exit code: the program's or the go command's own, 128 and the number of the signal
that ended it; 125 tracerag failed, 126 the program cannot be built, run or
recorded, 127 program not found.`

// runFlags are those of a recording.
type runFlags struct {
	include, exclude []string
	baseline         string
	each             int // tests at a time that are recorded each by itself; 0: all in one run
	recorder         recorderFlags
	valueFlags       valueFlags
	values           *valuePlan // nil: none are observed

	// output takes what the program prints, in place of our own; nil: nothing does.
	output *os.File

	idFile   string        // takes the ids of the saved traces; "": none
	limit    time.Duration // after which the program is killed; 0: never
	deadline time.Time     // that limit, of a run that has begun; zero: none

	// Set when the go command has built the program and starts it for us.
	dir            string   // the program's working directory
	typed, program []string // what was typed, and the part of it that stands for the program
	tests          bool     // the program is tests
}

func (r *runFlags) add(f *pflag.FlagSet) {
	r.addPackages(f)
	f.StringVar(&r.baseline, "baseline", "", "leave out of the tree what another run does: a `TRACE`, or arguments to run\nthe same program with first, such as --baseline=--version")
	r.valueFlags.add(f)
	r.recorder.add(f)
}

func (r *runFlags) addPackages(f *pflag.FlagSet) {
	f.StringSliceVar(&r.include, "include", nil, "record only the packages that match these `PATTERNS`")
	f.StringSliceVar(&r.exclude, "exclude", nil, "do not record the packages that match these `PATTERNS`")
}

func runRun(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, runHelp)
	f.SetInterspersed(false) // the program's own flags are not ours
	var r runFlags
	var t treeFlags
	var p promptFlags
	var m modelFlags
	a.section(f, "Recording")
	r.add(f)
	f.DurationVar(&r.limit, "time-limit", 0, "kill the program after this `TIME`, building included; what ran until then is saved")
	f.StringVar(&r.idFile, "id-file", "", "write the ids of the saved traces to `FILE`, one a line")
	window := f.Bool("window", false, "record only between tracerag window start and stop (see tracerag help window)")
	f.IntVar(&r.each, "each", 0, "record every test of go test in a run of its own, `N` at a time")
	f.Lookup("each").NoOptDefVal = "1"
	inner := innerFlag(f)
	a.section(f, "The answer")
	question := f.StringP("ask", "q", "", "ask this `QUESTION` about the run at once")
	toClipboard := f.Bool("copy", false, "with -q and without a model: copy the prompt to the clipboard")
	p.addModel(f)
	m.add(f)
	a.section(f, "The call tree")
	t.add(f)
	a.section(f, "The prompt")
	p.add(f)
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.Changed("each") && r.each == 0 {
		return a.usage(c, "--each=0: --each must be at least 1")
	}
	if f.NArg() == 0 {
		return a.usage(c, "no program: tracerag run -- ./app --csv data.csv")
	}
	if f.Changed("values") && (len(r.valueFlags.patterns) == 0 || slices.Contains(r.valueFlags.patterns, "")) {
		return a.usage(c, "--values= names no function: give names, own or all")
	}
	if len(r.valueFlags.patterns) > 0 || *inner != "" {
		r.values = a.planValues(&r.valueFlags, &t, &p, question)
	}
	if *inner != "" {
		return a.runInner(ctx, f, *inner, &r)
	}
	if err := cmp.Or(r.recorder.check(), r.valueFlags.check()); err != nil {
		return a.usage(c, err.Error())
	}
	s, err := a.store()
	if err == nil {
		err = a.tryTemplate(&p)
	}
	if err == nil && r.idFile != "" {
		err = idFileError(atomicfile.Check(r.idFile))
	}
	if err != nil {
		a.fail(err)
		return exitRunFailed
	}
	finish := func(rec *recording) error {
		return a.finish(ctx, s, rec, &t, &p, &m, *question, *toClipboard)
	}
	g, err := gocmd.Find(ctx, f.Args(), a.cwd)
	if err != nil {
		a.fail(err)
		return exitRunCannot
	}
	if *window && (g != nil || r.baseline != "" || *question != "") {
		return a.usage(c, "--window needs a compiled program, and no other recording flags: build it first, and ask about its windows afterwards")
	}
	if *window && r.recorder.name == "breakpoint" {
		return a.usage(c, "windows need the probe: leave --recorder out")
	}
	if r.each < 0 || r.each > 0 && (*window || *question != "") {
		return a.usage(c, "--each makes a trace of every test: leave --window and -q out, and ask about the traces afterwards")
	}
	if (r.each > 0 || *window) && (r.limit != 0 || r.idFile != "") {
		return a.usage(c, "--time-limit and --id-file need a whole run: leave --each and --window out")
	}
	if r.limit < 0 {
		return a.usage(c, fmt.Sprintf("--time-limit=%s: must be positive", r.limit))
	}
	if r.limit > 0 {
		r.deadline = time.Now().Add(r.limit)
	}
	if r.each > 0 && g != nil {
		if err := g.Each(); err != nil {
			return a.usage(c, err.Error())
		}
	}
	if r.values != nil {
		if *window || r.each > 0 {
			return a.usage(c, "--values needs one run: leave --window and --each out (go test -run NAME runs one test)")
		}
		if g == nil || g.Verb != "test" { // the go command gives tests no input
			if _, _, err := inputAgain(a.stdin); err != nil {
				return a.usage(c, err.Error())
			}
		}
	}
	if *window {
		return a.runWindows(ctx, s, f.Args(), &r)
	}
	if r.each > 0 && g == nil {
		return a.runEach(ctx, s, f.Args(), &r)
	}
	if g != nil {
		if r.values != nil {
			a.noteTwice(f.Args())
		}
		return a.runGo(ctx, s, g, f.Args(), args[:len(args)-f.NArg()], &r, *question, finish)
	}
	if o, err := a.promptOptions(&p); err == nil && !a.quiet {
		// Loading a vocabulary takes longer than most programs run.
		go tokens.For(o.Model).Count(" ")
	}
	rec, err := a.record(ctx, s, f.Args(), &r)
	if rec == nil {
		a.fail(err)
		return recordCode(f.Arg(0), err)
	}
	code := rec.trace.Exit.Code
	if err == nil {
		err = errors.Join(r.writeIDs(s, []*recording{rec}), finish(rec))
	}
	if err != nil {
		a.fail(err)
		if code == 0 {
			return exitRunFailed
		}
	}
	return code
}

// tryTemplate finds what is wrong with a template before the program has run for
// nothing.
func (a *app) tryTemplate(p *promptFlags) error {
	o, err := a.promptOptions(p)
	if err != nil || o.Template == "" {
		return err
	}
	nothing := prompt.Input{Runs: []prompt.Run{{Tree: &calltree.Tree{}}}, Source: func(trace.Function) source.Text { return source.Text{} }}
	_, err = prompt.Build(nothing, o)
	return err
}

// interruptDelay is how long a signal that has been sent to us may take to be
// noticed, on a busy machine.
const interruptDelay = 200 * time.Millisecond

var errInterrupted = errors.New("interrupted in the run of the baseline: the program was not started")

// recordCode is the exit code for a run of the program that was not made.
func recordCode(program string, err error) int {
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	var cannot cannotRun
	if !errors.As(err, &cannot) {
		return exitRunFailed
	}
	// What looking it up says, since any file may be missing in err.
	_, err = exec.LookPath(program)
	if !cannot.present && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound)) {
		return exitRunNotFound
	}
	return exitRunCannot
}

// cannotRun marks an error as the program's without changing its text.
type cannotRun struct {
	error
	present bool // it is there, but is no program
}

func (e cannotRun) Unwrap() error { return e.error }

// findTarget finds the program. What the go command would build has been taken
// before.
func (a *app) findTarget(args []string, r *runFlags) (*target.Target, error) {
	name := args[0]
	if name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, cannotRun{fmt.Errorf("%s is a directory without Go files", phrase.Quote(name)), true}
		}
	}
	t, err := target.Find(args, a.cwd, r.include, r.exclude)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, `/\`) {
		err = fmt.Errorf("program %s not found", phrase.Quote(name))
	}
	if err != nil {
		return nil, cannotRun{error: err}
	}
	return t, nil
}

// recording is a finished and saved run.
type recording struct {
	trace *trace.Trace
	entry store.Entry
	tests bool // of go test: no arguments make the program only start
}

// record runs the baseline, if one is to be run, and then the program. A run that was
// made is returned also with an error: its trace is not saved then.
func (a *app) record(ctx context.Context, s *store.Store, args []string, r *runFlags) (*recording, error) {
	tgt, err := a.findTarget(args, r)
	if err != nil {
		return nil, err
	}
	if r.dir != "" {
		tgt.Dir = r.dir
	}
	tgt.Output = r.output
	choice, err := a.findBaseline(s, r.baseline)
	if err == nil {
		err = a.checkValues(tgt, r)
	}
	if err == nil {
		err = checkStore(s, choice)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.limited(ctx, 0)
	defer cancel()
	baseline, err := a.baseline(ctx, s, tgt, choice, r)
	if err != nil {
		return nil, err
	}
	if err := r.over(ctx); err != nil {
		return nil, err
	}
	var rewind func() error
	empty := false
	if len(r.valueFlags.patterns) > 0 {
		if rewind, empty, err = inputAgain(a.stdin); err != nil {
			return nil, err
		}
	}
	if rewind != nil && r.typed == nil {
		a.noteTwice(args)
	}
	begin, end := untilSaved()
	defer end()
	tr, err := a.recordStarted(ctx, tgt, r, begin)
	if over := r.over(ctx); over != nil && errors.Is(err, context.DeadlineExceeded) {
		err = over
	}
	if err != nil {
		return nil, cannotRun{error: err}
	}
	tr.Baseline = baseline
	if r.typed != nil {
		tr.Command = r.typed
	}
	if rewind != nil {
		a.observe(ctx, s, tgt, tr, r, rewind, empty)
	}
	e, err := a.save(s, tr)
	return &recording{trace: tr, entry: e}, err
}

// limited returns a context that ends some time after the run's deadline, if it has
// one.
func (r *runFlags) limited(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if r.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, r.deadline.Add(after))
}

// over is the error of a run whose time was over before the program was started.
func (r *runFlags) over(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the program was not started: its deadline expired before the start (--time-limit=%s)", r.limit)
	}
	return nil
}

// writeIDs writes the file that --id-file asks for. It is whole when it is there, and
// empty if nothing was recorded. A trace that had to be saved elsewhere has its file's
// path there.
func (r *runFlags) writeIDs(s *store.Store, recs []*recording) error {
	if r.idFile == "" {
		return nil
	}
	return idFileError(atomicfile.Write(r.idFile, func(w io.Writer) error {
		for _, rec := range recs {
			if _, err := fmt.Fprintln(w, nameOf(s, rec.entry)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func idFileError(err error) error {
	if err != nil {
		return fmt.Errorf("--id-file: %w", err)
	}
	return nil
}

// finish says what was recorded, and asks the question if there is one.
func (a *app) finish(ctx context.Context, s *store.Store, rec *recording, t *treeFlags, p *promptFlags, m *modelFlags, question string, toClipboard bool) error {
	tr := rec.trace
	v := &session.View{Trace: tr, Entry: rec.entry} // not masked: nothing but figures is shown
	if err := a.session(s).Look([]*session.View{v}, t.options()); err != nil {
		a.note("recorded as trace %s", rec.entry.ID)
		return err
	}
	floor := ""
	for _, l := range tr.Losses {
		if l.Kind == trace.LossFloor || l.Kind == trace.LossOverflow {
			floor = "at least "
		}
	}
	a.note("recorded %s%s of %s in %s (%s, %s)", floor, phrase.Plural(tr.Calls(), "call", "calls"), phrase.Plural(len(tr.Functions), "function", "functions"),
		phrase.Plural(tr.Goroutines, "goroutine", "goroutines"), tr.Exit, phrase.Duration(tr.Duration))
	switch {
	case v.Base != "":
		a.note("call tree: %s, %s after pruning by %s", phrase.Plural(v.Whole, "node", "nodes"), phrase.Number(v.Whole-v.Pruned), v.Base)
	case rec.tests:
		a.note("call tree: %s", phrase.Plural(v.Whole, "node", "nodes"))
	default:
		a.note("call tree: %s (%s)", phrase.Plural(v.Whole, "node", "nodes"), a.startHint(s, tr))
	}
	if empty := v.Empty(); empty != nil {
		if question != "" {
			return empty // there is nothing to ask about
		}
		a.note("%s", withWayOut(empty))
		return nil
	}
	if question != "" {
		a.note("trace: %s", phrase.Quote(nameOf(s, rec.entry)))
		q := &inquiry{names: []string{nameOf(s, rec.entry)}, question: question, copy: toClipboard, tree: t, prompt: p, model: m}
		return a.ask(ctx, s, q)
	}
	if a.quiet {
		return nil // the figures below cost the reading of all sources
	}
	o, err := a.promptOptions(p)
	if err != nil {
		return err
	}
	var pr *prompt.Prompt
	unmasked := session.Session{Store: s} // nothing but its size is shown
	in, err := unmasked.PromptInput("", p.types, v)
	if err == nil {
		counted := a.wait("counting the prompt's tokens")
		pr, err = prompt.Build(in, o)
		counted()
	}
	var over *prompt.OverBudgetError
	var large *trace.LimitError
	ask := ""
	switch {
	case errors.As(err, &over), errors.As(err, &large):
		a.note("%s", withWayOut(err)) // nobody has asked yet
	case err != nil:
		return err
	default:
		a.warnings(pr)
		a.note("prompt: %s", budgetLine(pr))
		if pr.Total > pr.Window {
			ask = " --budget=50%" // or the question would be refused
		}
	}
	name, which := phrase.Quote(nameOf(s, rec.entry)), ""
	if name != rec.entry.ID {
		which = " " + name // @last is another one
	}
	a.note("trace: %s. Next:", name)
	a.hint(fmt.Sprintf("tracerag tree%[1]s%[2]s\ntracerag ask%[1]s%[3]s%[2]s \"your question\"\ntracerag prompt%[1]s%[3]s --copy%[2]s \"your question\"", a.dirFlag(), which, ask))
	return nil
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	a    *app
	what string
	bar  *progressbar.ProgressBar
}

func (a *app) progress(what string) *progress { return &progress{a: a, what: what} }

func (p *progress) set(done, total int) {
	if p.a.quiet || !terminal(p.a.stderr) {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(output.File(p.a.stderr)), progressbar.OptionSetDescription("tracerag: "+visible.Line(p.what)),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(false))
	}
	_ = p.bar.Set(done)
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
