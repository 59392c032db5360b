package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/trace/store"
	"tracerag/visible"
)

const auditHelp = `
audit lists what those asked who read a team's page by a token (tracerag token), the newest first.
Questions are kept for 90 days, without secrets.

  tracerag audit
  tracerag audit --since 30d --who anna
  tracerag audit --json --limit 0 --since 90d > audit.json`

func runAudit(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, auditHelp)
	var k knowledgeFlags
	k.add(f)
	var filter knowledge.QuestionFilter
	age := f.String("since", "7d", "list what was asked in the last `TIME`: 7d, 2w, 36h")
	f.StringVar(&filter.Who, "who", "", "list what the holder of the token `NAME` asked")
	limit := f.Int("limit", 100, "list the newest `QUESTIONS`, this many; 0 for all")
	asJSON := f.Bool("json", false, "print them as JSON")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return a.usage(c, "unexpected argument: --who names the holder of a token")
	}
	if *limit < 0 {
		return a.usage(c, fmt.Sprintf("--limit=%d: want a number of questions, or 0 for all", *limit))
	}
	d, err := store.ParseAge(*age)
	if err != nil {
		return a.usage(c, "--since: "+err.Error())
	}
	filter.Since = time.Now().Add(-d)
	if *limit > 0 {
		filter.Limit = *limit + 1
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	guests, end, err := a.guests(ctx, &k, "tokens and what was asked with them")
	if err != nil {
		return a.fail(err)
	}
	defer end()
	list, err := guests.Audit(ctx, filter)
	if err != nil {
		return a.fail(err)
	}
	more := *limit > 0 && len(list) > *limit
	if more {
		list = list[:*limit]
	}
	if *asJSON {
		if list == nil {
			list = []knowledge.Question{}
		}
		err = a.printJSON(list)
	} else {
		err = a.printAudit(list)
	}
	if err != nil {
		return a.fail(err)
	}
	if more {
		a.note("there are more: --limit=%d lists twice as many", 2**limit)
	}
	return exitOK
}

func (a *app) printAudit(list []knowledge.Question) error {
	if len(list) == 0 {
		a.note("nothing was asked in that time")
		return nil
	}
	var b strings.Builder
	for _, q := range list {
		title, _, _ := strings.Cut(strings.TrimSpace(q.Text), "\n")
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", q.When.UTC().Format(time.DateTime), visible.Line(q.Who), visible.Line(q.What), visible.Line(phrase.Cut(title, 120)))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
