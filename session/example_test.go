package session_test

import (
	"fmt"
	"log"
	"os"

	"tracerag/calltree"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

// A Session opens a saved trace by its name: tree, baseline and sources.
func Example() {
	dir, err := os.MkdirTemp("", "traces")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := store.Open(dir)
	if _, err := s.Save(run()); err != nil {
		log.Fatal(err)
	}

	ses := &session.Session{Store: s}
	views, err := ses.Open([]string{"@last"}, session.TreeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(views[0].Title())
	if err := views[0].Tree.WriteText(os.Stdout, calltree.View{Counts: true}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ./app --csv data.csv
	// main.main
	//   table.Draw x3
}

// run represents a recorder.
func run() *trace.Trace {
	b := trace.NewBuilder(&trace.Trace{Recorder: "probe", Command: []string{"./app", "--csv", "data.csv"}})
	start := trace.Frame{Func: b.Func(trace.Function{Name: "main.main"})}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start}, 1)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start, {Func: b.Func(trace.Function{Name: "table.Draw"})}}, 3)
	return b.Finish()
}
