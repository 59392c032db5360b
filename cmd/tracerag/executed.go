package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/visible"
)

const executedHelp = `
executed lists which tests and programs executed a function, by the traces that are saved or
indexed: of each its newest. In a team's database are also those of others (tracerag push), with
module and commit.

  tracerag executed Parse
  tracerag executed 'parser.(*Parser).Parse'
  tracerag executed example.com/shop/parser.Parse`

func runExecuted(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, executedHelp)
	var k knowledgeFlags
	k.add(f)
	limit := f.Int("limit", 100, "list `TESTS`, this many at most")
	asJSON := f.Bool("json", false, "print them as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "one function at a time")
	}
	if *limit < 1 {
		return a.usage(c, fmt.Sprintf("--limit=%d: must be at least 1", *limit))
	}
	names := functionNames(f.Arg(0))
	if names == nil {
		return a.usage(c, fmt.Sprintf("%q is no function's name: Parse, parser.Parse or 'parser.(*Parser).Parse'", f.Arg(0)))
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	db, err := a.executions(ctx, &k)
	if err != nil {
		return a.fail(err)
	}
	defer func() { _ = db.Close() }()
	list, err := executionsOf(ctx, db, names, *limit+1)
	if rest, ok := strings.CutPrefix(f.Arg(0), "main."); ok && err == nil && len(list) == 0 {
		// Trees say main for the package whose program ran; here it has its import path.
		if list, err = executionsOf(ctx, db, functionNames(rest), mostOfMain); err == nil {
			list = slices.DeleteFunc(list, func(e knowledge.Execution) bool { return !strings.HasPrefix(e.Function, e.Package+".") })
			list = list[:min(len(list), *limit+1)]
		}
	}
	if err != nil {
		return a.fail(err)
	}
	for _, e := range list { // of what was indexed, and not pushed, nothing is masked before
		a.masker().LearnCommand(e.Command)
	}
	more := len(list) > *limit
	list = list[:min(len(list), *limit)]
	if *asJSON {
		if list == nil {
			list = []knowledge.Execution{}
		}
		err = a.printJSON(list)
	} else {
		err = a.printExecutions(f.Arg(0), list)
	}
	if err != nil {
		return a.fail(err)
	}
	if more {
		a.note("there are more: --limit=%d lists twice as many", 2**limit)
	}
	return exitOK
}

// mostOfMain is how many executions of functions of a name are looked through for those of package main.
const mostOfMain = 10_000

// executionsOf returns those of the first name that has any.
func executionsOf(ctx context.Context, db knowledge.Store, names []knowledge.FunctionName, limit int) (list []knowledge.Execution, err error) {
	for _, name := range names {
		if list, err = db.Executions(ctx, name, limit); err != nil || len(list) > 0 {
			break
		}
	}
	return list, err
}

// executions opens what says which functions runs executed.
func (a *app) executions(ctx context.Context, k *knowledgeFlags) (knowledge.Store, error) {
	traces, err := a.store()
	if err != nil {
		return nil, err
	}
	place, err := a.place(k, traces.Dir())
	if err != nil {
		return nil, err
	}
	if place.IsDatabase() { // it may be asked from anywhere, and is a team's to fill
		return place.Open(ctx)
	}
	return a.knowledge(ctx, k, traces.Dir())
}

// functionNames are what a name may mean, the likelier first; nil if it is none. "a.F" is a function of a package, or a method.
func functionNames(text string) []knowledge.FunctionName {
	dir, rest := "", text
	if i := strings.LastIndexByte(text, '/'); i >= 0 && !strings.ContainsAny(text[:i], "()*") {
		dir, rest = text[:i+1], text[i+1:]
	}
	parts := strings.Split(strings.NewReplacer("(", "", "*", "", ")", "").Replace(rest), ".")
	for _, p := range parts {
		if p == "" || strings.ContainsAny(p, " \t\n") {
			return nil
		}
	}
	last := parts[len(parts)-1]
	method := strings.ContainsRune(rest, '(')
	switch n := len(parts); {
	case n == 1 && dir == "":
		return []knowledge.FunctionName{{Name: last}}
	case n == 2 && dir == "" && method:
		return []knowledge.FunctionName{{Type: parts[0], Name: last}}
	case n == 2 && dir == "":
		return []knowledge.FunctionName{{Package: parts[0], Name: last}, {Type: parts[0], Name: last}}
	case n == 2:
		return []knowledge.FunctionName{{Package: dir + parts[0], Name: last}}
	case n >= 3: // the package's name may have dots
		return []knowledge.FunctionName{
			{Package: dir + strings.Join(parts[:n-2], "."), Type: parts[n-2], Name: last},
			{Package: dir + strings.Join(parts[:n-1], "."), Name: last},
		}
	}
	return nil
}

func (a *app) printExecutions(asked string, list []knowledge.Execution) error {
	if len(list) == 0 {
		a.note("no trace that is known has a function %s: tracerag run records one, and tracerag push shares it", visible.Line(asked))
		return nil
	}
	var b strings.Builder
	function := ""
	for _, e := range list {
		if e.Function != function {
			function = e.Function
			fmt.Fprintf(&b, "%s\n", visible.Line(function))
		}
		fmt.Fprintf(&b, "  %s  %s  trace %s\n", keptLine(&e.KeptTrace), phrase.Plural(int(e.Calls), "call", "calls"), visible.Line(e.ID))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
