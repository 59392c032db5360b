package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/atotto/clipboard"

	"tracerag/atomicfile"
	"tracerag/output"
	"tracerag/prompt"
)

func (a *app) printJSON(v any) error {
	w, end := a.printed(output.JSON)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return cmp.Or(enc.Encode(v), end())
}

// writeTo writes to standard output or to a file, which is whole or as it was before.
// What it holds is of a kind.
func (a *app) writeTo(name string, kind output.Kind, write func(io.Writer) error) error {
	buffered := func(to io.Writer) error {
		o := output.New(to, kind, a.knownSecrets)
		w := bufio.NewWriter(o)
		return cmp.Or(write(w), w.Flush(), o.Flush())
	}
	if name == "-" {
		return buffered(a.rawStdout())
	}
	return atomicfile.Write(name, buffered)
}

// deliver prints the prompt, or copies it.
func (a *app) deliver(p *prompt.Prompt, toClipboard bool) error {
	if toClipboard {
		if err := clipboard.WriteAll(p.Text); err != nil {
			return fmt.Errorf("copying to the clipboard: %w\nprint it and copy it yourself: leave --copy out", err)
		}
		a.note("copied: %s", p.Size())
		return nil
	}
	if _, err := io.WriteString(a.stdout, p.Text); err != nil {
		return err
	}
	a.note("%s", p.Size())
	return nil
}
