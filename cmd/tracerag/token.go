package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/visible"
)

const tokenHelp = `
token makes, lists and revokes tokens: who has one may read the project by the page that a team
serves, without a role in the database. A token is somebody's: its name is in the audit
(tracerag audit).

  tracerag token add anna > anna.token     the secret is printed this once, and kept nowhere
  tracerag token list
  tracerag token rm anna                   it is revoked, for good; the name may be used again`

func runToken(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, tokenHelp)
	var k knowledgeFlags
	k.add(f)
	asJSON := f.Bool("json", false, "list: print them as JSON")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	verb, name := f.Arg(0), f.Arg(1)
	switch verb {
	case "add", "rm":
		if f.NArg() != 2 {
			return a.usage(c, verb+" takes one name")
		}
	case "list":
		if f.NArg() != 1 {
			return a.usage(c, "list takes no argument")
		}
	case "":
		return a.usage(c, "missing action: must be add, list or rm")
	default:
		return a.usage(c, fmt.Sprintf("unknown action %q: must be add, list or rm", verb))
	}
	if *asJSON && verb != "list" {
		return a.usage(c, "--json is of tracerag token list")
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	guests, end, err := a.guests(ctx, &k, "tokens")
	if err != nil {
		return a.fail(err)
	}
	defer end()
	switch verb {
	case "add":
		err = a.addToken(ctx, guests, name)
	case "list":
		err = a.printTokens(ctx, guests, *asJSON)
	case "rm":
		if err = guests.RemoveToken(ctx, name); err == nil {
			a.note("revoked the token %s", visible.Line(name))
		}
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// addToken makes a token. Its secret is the only output that is not masked: it is what was asked for.
func (a *app) addToken(ctx context.Context, guests knowledge.Guests, name string) error {
	secret, err := guests.AddToken(ctx, name)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.rawStdout(), secret+"\n"); err != nil {
		if undone := guests.RemoveToken(context.WithoutCancel(ctx), name); undone != nil {
			return fmt.Errorf("the token can't be printed: %w\nand it can't be revoked: %v", err, undone)
		}
		return fmt.Errorf("the token can't be printed, so it was revoked: %w", err)
	}
	a.note("made a token for %s: it is shown this once\ntracerag token rm %s revokes it", visible.Line(name), phrase.Quote(visible.Line(name)))
	return nil
}

func (a *app) printTokens(ctx context.Context, guests knowledge.Guests, asJSON bool) error {
	list, err := guests.Tokens(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []knowledge.Token{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.note("no tokens: tracerag token add NAME makes one")
		return nil
	}
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "%s  made %s by %s", visible.Line(t.Name), minute(t.Created), visible.Line(t.Role))
		if t.Used != nil {
			fmt.Fprintf(&b, ", last used %s", minute(*t.Used))
		} else {
			b.WriteString(", never used")
		}
		if t.Revoked != nil {
			fmt.Fprintf(&b, ", revoked %s", minute(*t.Revoked))
		}
		b.WriteString("\n")
	}
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

// minute is a time in UTC, as lists show it.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
