package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tracerag/jobs"
	"tracerag/phrase"
	"tracerag/visible"
)

const jobsHelp = `
jobs lists what a team's workers do and will do, and what failed and why; then the followed
URLs, the workers, and what models were asked by day.

  tracerag jobs
  tracerag jobs --all                     also what was done or cancelled in the last week
  tracerag jobs cancel 17                 a job that runs ends within seconds
  tracerag jobs retry 17 18               have failed jobs done again, or waiting ones now
  tracerag jobs limit gpt-5.4 --rate 60 --cost-a-day 5
  tracerag jobs locate reports.jsonl      have workers say what each report is about
  tracerag jobs try changes.jsonl         have workers build and test changes, in a sandbox
  tracerag jobs answers BUG-17            what they found; without an ID all answers of the last four weeks

A line of reports is {"id": "BUG-17", "report": "the border is cut"}, with "in" as for locate --in. One of changes is
{"id": "PR-7", "url": "https://host/app#main", "change": "--- a/...", "test": "./table:TestBorder"}: a diff or files as
for fix --candidate, and perhaps the test that it is to make pass. They go before other jobs, and with --night after them.

limit says how often all workers together ask a model, and for how much a day (of UTC). It replaces the limits
that were there; a limit that is not given is none. What does not fit into a day is put off until the next.

A job that fails is tried again, after 10 seconds at first and an hour at last, for six hours. What would
fail each time is set aside at once.`

func runJobs(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, jobsHelp)
	var k knowledgeFlags
	k.add(f)
	all := f.Bool("all", false, "also list what was done or cancelled in the last week")
	asJSON := f.Bool("json", false, "print them as JSON")
	night := f.Bool("night", false, "locate, try: after what else waits")
	var limit jobs.Limit
	f.Float64Var(&limit.PerMinute, "rate", 0, "limit: at most `N` questions a minute")
	f.Float64Var(&limit.Cost, "cost-a-day", 0, "limit: at most this many US `DOLLARS` a day, at list prices")
	f.Int64Var(&limit.Tokens, "tokens-a-day", 0, "limit: at most this many `TOKENS` a day, of questions and answers")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	var ids []int64
	limited := f.Changed("rate") || f.Changed("cost-a-day") || f.Changed("tokens-a-day")
	if f.Arg(0) == "limit" {
		limit.Model = f.Arg(1)
		if f.NArg() != 2 || !(limit.PerMinute >= 0 && limit.Cost >= 0) || limit.Tokens < 0 {
			return a.usage(c, "limit takes the name of a model, and limits that are not negative")
		}
		if limit.PerMinute == 0 && f.Changed("rate") || limit.Cost == 0 && f.Changed("cost-a-day") || limit.Tokens == 0 && f.Changed("tokens-a-day") {
			return a.usage(c, "a limit of 0 would be none: give a small one to have hardly anything asked, or leave it out to have none")
		}
	} else if limited {
		return a.usage(c, "--rate, --cost-a-day and --tokens-a-day are of tracerag jobs limit MODEL")
	} else if f.Arg(0) == "locate" {
		if f.NArg() != 2 {
			return a.usage(c, "locate takes a file of reports, or - for standard input")
		}
	} else if f.Arg(0) == "try" {
		if f.NArg() != 2 {
			return a.usage(c, "try takes a file of changes, or - for standard input")
		}
	} else if *night {
		return a.usage(c, "--night is of tracerag jobs locate FILE and try FILE")
	} else if f.NArg() > 0 && f.Arg(0) != "answers" {
		if verb := f.Arg(0); verb != "cancel" && verb != "retry" {
			return a.usage(c, fmt.Sprintf("unknown action %q: must be cancel, retry, limit, locate, try or answers", verb))
		}
		for _, arg := range f.Args()[1:] {
			id, err := strconv.ParseInt(arg, 10, 64)
			if err != nil {
				return a.usage(c, fmt.Sprintf("%q is no job: tracerag jobs lists their numbers", arg))
			}
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			return a.usage(c, "missing argument: the job's number")
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	q, end, err := a.queue(ctx, &k)
	if err != nil {
		return a.fail(err)
	}
	defer end()
	if limit.Model != "" {
		if err := q.SetLimit(ctx, limit); err != nil {
			return a.fail(err)
		}
		a.note("all workers together ask %s %s", limit.Model, limitText(limit))
		return exitOK
	}
	switch f.Arg(0) {
	case "locate", "try":
		priority, send := jobs.Asked, a.locateReports
		if *night {
			priority = jobs.Night
		}
		if f.Arg(0) == "try" {
			send = a.tryChanges
		}
		if err := send(ctx, q, f.Arg(1), priority); err != nil {
			return a.fail(err)
		}
		return exitOK
	case "answers":
		if err := a.printAnswers(ctx, q, f.Args()[1:], *asJSON); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	for _, id := range ids {
		if err := a.changeJob(ctx, q, f.Arg(0), id); err != nil {
			return a.fail(err)
		}
	}
	if len(ids) > 0 {
		return exitOK
	}
	since := time.Now()
	if *all {
		since = since.Add(-7 * 24 * time.Hour)
	}
	list, err := q.Report(ctx, since)
	if err != nil {
		return a.fail(err)
	}
	if *asJSON {
		err = a.printJSON(list)
	} else {
		err = a.printJobs(list)
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// limitText says what a limit is.
func limitText(l jobs.Limit) string {
	var parts []string
	if l.PerMinute > 0 {
		parts = append(parts, fmt.Sprintf("%g questions a minute", l.PerMinute))
	}
	if l.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f a day", l.Cost))
	}
	if l.Tokens > 0 {
		parts = append(parts, phrase.Number(l.Tokens)+" tokens a day")
	}
	if len(parts) == 0 {
		return "without a limit"
	}
	return "at most " + strings.Join(parts, ", ")
}

// changeJob cancels a job, or has it done again, and says what became of it.
func (a *app) changeJob(ctx context.Context, q *jobs.Queue, verb string, id int64) error {
	if verb == "cancel" {
		was, err := q.Cancel(ctx, id)
		switch {
		case err != nil:
			return err
		case was == jobs.Running:
			a.note("job %d ends in a moment", id)
		case was == jobs.Waiting || was == jobs.Retrying:
			a.note("job %d is cancelled", id)
		default:
			a.note("job %d had ended before: it was %s", id, was)
		}
		return nil
	}
	was, err := q.Retry(ctx, id)
	switch {
	case err != nil:
		return err
	case was == jobs.Running:
		a.note("job %d runs", id)
	default:
		a.note("job %d was %s: it is done when a worker is free", id, was)
	}
	return nil
}

// printJobs prints a report for people.
func (a *app) printJobs(r *jobs.Report) error {
	var b strings.Builder
	now := time.Now()
	ago := func(t time.Time) string { return phrase.Duration(max(now.Sub(t), 0).Round(time.Second)) }
	for _, j := range r.Jobs {
		fmt.Fprintf(&b, "%6d  %-9s  %-9s  %s", j.ID, j.State, j.Kind, visible.Line(j.What))
		if n := min(len(j.Version), 12); n > 0 {
			fmt.Fprintf(&b, " %s", visible.Line(j.Version[:n]))
		}
		switch {
		case j.State == jobs.Running && j.Began != nil:
			fmt.Fprintf(&b, ", for %s by %s", ago(*j.Began), visible.Line(j.Worker))
		case j.State == jobs.Retrying:
			fmt.Fprintf(&b, ", again in %s, after try %d", phrase.Duration(max(j.Next.Sub(now), 0).Round(time.Second)), j.Try)
		case j.State == jobs.Waiting:
			fmt.Fprintf(&b, ", for %s", ago(j.Created))
		case j.Ended != nil:
			fmt.Fprintf(&b, ", %s ago", ago(*j.Ended))
		}
		b.WriteString("\n")
		if j.Error != "" && j.State != jobs.Done {
			line, _, _ := strings.Cut(j.Error, "\n")
			fmt.Fprintf(&b, "        %s\n", visible.Line(line))
			if model, ok := strings.CutSuffix(line, jobs.NoCeiling); ok {
				fmt.Fprintf(&b, "        tracerag jobs limit %s --cost-a-day DOLLARS sets one\n", visible.Line(model))
			}
		}
	}
	if len(r.Jobs) == 0 {
		b.WriteString("no jobs\n")
	}
	if len(r.Followed) > 0 {
		b.WriteString("\nfollowed:\n")
	}
	for _, u := range r.Followed {
		fmt.Fprintf(&b, "  %s", visible.Line(u.URL))
		if u.Commit != "" {
			fmt.Fprintf(&b, " %s", visible.Line(u.Commit[:min(len(u.Commit), 12)]))
		}
		if u.Checked != nil {
			fmt.Fprintf(&b, ", looked at %s ago", ago(*u.Checked))
		} else {
			b.WriteString(", not looked at yet")
		}
		b.WriteString("\n")
		if u.Problem != "" {
			line, _, _ := strings.Cut(u.Problem, "\n")
			fmt.Fprintf(&b, "    %s\n", visible.Line(line))
		}
		for _, x := range r.Recorded {
			if x.URL == u.URL {
				b.WriteString(recordedLine(&x))
			}
		}
	}
	b.WriteString("\nworkers:\n")
	for _, w := range r.Workers {
		fmt.Fprintf(&b, "  %s:%d: %s, %d at a time, for %s\n", visible.Line(w.Host), w.Process, visible.Line(w.Kinds), w.Parallel, ago(w.Started))
	}
	if len(r.Workers) == 0 {
		b.WriteString("  none: tracerag worker starts one\n")
	}
	if len(r.Limits) > 0 {
		b.WriteString("\nmodels:\n")
	}
	for _, l := range r.Limits {
		fmt.Fprintf(&b, "  %s: %s\n", visible.Line(l.Model), limitText(l))
	}
	for _, s := range r.Spent {
		fmt.Fprintf(&b, "  %s  %s: %s, %s", s.Day, visible.Line(s.Model), phrase.Plural(s.Questions, "question", "questions"), phrase.Plural(s.Tokens, "token", "tokens"))
		if s.Cost > 0 {
			fmt.Fprintf(&b, ", $%.4f", s.Cost)
		}
		b.WriteString("\n")
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}
