package main

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"
)

// topic is a page of help that is no command's.
type topic struct {
	name  string
	title string // "Models: which one is asked, and with which key"
	about string // the part of the title that is printed beside the name
	text  string
}

//go:embed topics
var topicFiles embed.FS

// topics returns the pages in order of their names. They are Markdown, so that they
// are held against the program as the documents are.
func topics() []topic {
	files, err := topicFiles.ReadDir("topics")
	if err != nil {
		panic(err) // they are part of the program
	}
	var out []topic
	for _, f := range files {
		text, err := topicFiles.ReadFile(path.Join("topics", f.Name()))
		if err != nil {
			panic(err)
		}
		title, rest, _ := strings.Cut(string(text), "\n")
		title = strings.TrimPrefix(title, "# ")
		_, about, ok := strings.Cut(title, ": ")
		if !ok {
			about = title
		}
		out = append(out, topic{strings.TrimSuffix(f.Name(), ".md"), title, about, strings.TrimLeft(rest, "\n")})
	}
	return out
}

// helpOn is tracerag help NAME: of a command, or of a topic.
func (a *app) helpOn(ctx context.Context, name string) int {
	if c := find(name); c != nil {
		return c.run(a, ctx, c, []string{"--help"})
	}
	for _, t := range topics() {
		if t.name == name {
			a.paginate()
			fmt.Fprintf(a.stdout, "%s\n\n%s", t.title, t.text)
			return exitOK
		}
	}
	return a.unknown([]string{name})
}

// printTopics lists the topics for the help.
func (a *app) printTopics() {
	fmt.Fprint(a.stdout, "\nTopics, for tracerag help TOPIC:\n")
	for _, t := range topics() {
		fmt.Fprintf(a.stdout, "  %-13s%s\n", t.name, t.about)
	}
}
