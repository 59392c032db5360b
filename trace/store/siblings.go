package store

import (
	"iter"
	"slices"

	"tracerag/trace"
)

// Sibling is another saved run of a trace's program.
type Sibling struct {
	Entry Entry
	Trace *trace.Trace // its Exit is known, and says whether the run passed or failed
}

// Siblings yields the other saved runs of the program that t, whose entry is e, is a
// run of: those of the same binary, the newest first, and then those of other builds
// of the same package main, and of the same package's tests if t is of a test.
//
// Runs whose end was not seen, such as windows of a server, are passed over, and so
// are sampled ones: what a profile lacks may have run all the same. Of several runs
// of one test by one binary that ended alike, only the newest is yielded.
//
// Traces are read one by one, so that hundreds take little more memory than one. A
// trace that cannot be read is yielded as an error that names it, and does not hide
// the others.
func (s *Store) Siblings(e Entry, t *trace.Trace) iter.Seq2[Sibling, error] {
	return func(yield func(Sibling, error) bool) {
		list, err := s.List()
		if err != nil {
			yield(Sibling{}, err)
			return
		}
		type outcome struct {
			test   trace.Test
			build  string
			failed bool
		}
		seen := map[outcome]bool{}
		fresh := func(run *trace.Trace) bool {
			if run.Test == (trace.Test{}) {
				return true
			}
			o := outcome{run.Test, run.Program.BuildID, run.Exit.Failed()}
			old := seen[o]
			seen[o] = true
			return !old
		}
		var rebuilt []Entry
		for _, entry := range slices.Backward(list) {
			if entry.ID == e.ID {
				continue
			}
			run, err := s.read(entry.Path)
			switch {
			case err != nil:
				if !yield(Sibling{Entry: entry}, err) {
					return
				}
			case run.Sampled || !run.Exit.Known():
			case sameBuild(&run.Program, &t.Program):
				if fresh(run) && !yield(Sibling{entry, run}, nil) {
					return
				}
			case sameMain(&run.Program, &t.Program) && run.Test.Package == t.Test.Package:
				rebuilt = append(rebuilt, entry)
			}
		}
		for _, entry := range rebuilt {
			run, err := s.read(entry.Path)
			if (err != nil || fresh(run)) && !yield(Sibling{Entry: entry, Trace: run}, err) {
				return
			}
		}
	}
}

func sameBuild(a, b *trace.Program) bool { return a.BuildID != "" && a.BuildID == b.BuildID }

// sameMain reports whether two programs are made of the same package main. That of
// files on a command line has a name that says nothing.
func sameMain(a, b *trace.Program) bool {
	return a.MainPath != "" && a.MainPath != "command-line-arguments" && a.MainPath == b.MainPath && a.Main.Path == b.Main.Path
}
