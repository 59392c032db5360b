package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"tracerag/trace/export"
)

func runExport(a *app, _ context.Context, c *command, args []string) int {
	var names []string
	var help strings.Builder
	help.WriteString("\nexport writes a trace in another tool's format, to standard output or to a file:\n\n")
	for _, f := range export.Formats() {
		names = append(names, f.Name)
		fmt.Fprintf(&help, "  %-8s %s\n", f.Name, f.About)
	}
	f := a.flags(c, help.String())
	name := f.String("format", names[0], "the `FORMAT`: "+listed(names, "or"))
	a.redactFlag(f)
	out := f.StringP("output", "o", "-", "write to `FILE`")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	operand := "@last"
	switch f.NArg() {
	case 0:
	case 1:
		operand = f.Arg(0)
	default:
		return a.usage(c, "one trace at a time")
	}
	format, err := export.Find(*name)
	if err != nil {
		return a.usage(c, "--format: "+err.Error())
	}
	if format.Binary && *out == "-" && terminal(a.stdout) {
		return a.usage(c, fmt.Sprintf("%s is binary, and standard output a terminal: write it to a file with -o run%s, or pipe it", format.Name, format.Ext))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	tr, _, err := a.load(s, operand)
	if err != nil {
		return a.fail(err)
	}
	if err := a.writeTo(*out, func(w io.Writer) error { return format.Write(w, tr) }); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// writeTo writes to standard output or to a file, which is whole or not there.
func (a *app) writeTo(name string, write func(io.Writer) error) error {
	if name == "-" {
		w := bufio.NewWriter(a.stdout)
		return cmp.Or(write(w), w.Flush())
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	if err := cmp.Or(write(w), w.Flush(), file.Close()); err != nil {
		if info, e := os.Lstat(name); e == nil && info.Mode().IsRegular() { // and no device
			os.Remove(name)
		}
		return err // which names the file
	}
	return nil
}
