// App draws a CSV file as a table, or shows a Markdown file.
package main

import (
	"fmt"
	"os"

	"example.com/app/internal/markdown"
	"example.com/app/internal/table"
)

var colors = palette()

func palette() []string { return []string{"red", "green"} }

func main() {
	o := parseFlags(os.Args[1:])
	if o.version {
		version()
		return
	}
	show(o)
}

type options struct {
	csv, markdown string
	version       bool
}

// parseFlags reads the command line.
func parseFlags(args []string) options {
	var o options
	for i := 0; i < len(args); i++ {
		readFlag(&o, args[i:])
	}
	return o
}

func readFlag(o *options, args []string) {
	switch args[0] {
	case "--csv":
		o.csv = args[1]
	case "--md":
		o.markdown = args[1]
	case "--version":
		o.version = true
	}
}

func version() { fmt.Println("app 1.0") }

// show draws what the options name, while a spinner turns.
func show(o options) {
	done := make(chan bool)
	go spin(done)
	defer close(done)
	if o.csv != "" {
		t := table.Read(o.csv)
		fmt.Print(t.Draw(colors))
		return
	}
	fmt.Print(markdown.Render(o.markdown))
}

func spin(done chan bool) {
	<-done
}
