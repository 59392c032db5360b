package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

// mostPushed is how large a trace's file may be: PostgreSQL's limit of a value is not far above.
const mostPushed = 512 << 20

// push takes a trace into a team's database, with those of the processes that its program started. commit is what the user says, here that of the working tree.
func push(ctx context.Context, s *session.Session, db knowledge.Traces, e store.Entry, commit, here string) (bool, error) {
	k, file, executed, processes, err := kept(s, e, commit, here)
	if err != nil {
		return false, err
	}
	return db.PushTrace(ctx, k, file, executed, processes...)
}

// kept is a trace as a team's database has it.
func kept(s *session.Session, e store.Entry, commit, here string) (k knowledge.KeptTrace, _ []byte, executed knowledge.Executed, processes []knowledge.ProcessFile, err error) {
	if e.Size > mostPushed {
		return k, nil, executed, nil, fmt.Errorf("its file has %d MiB, and a database takes %d MiB\nname the other traces", e.Size>>20, mostPushed>>20)
	}
	g, err := s.LoadGroup(e.Path)
	if err != nil {
		return k, nil, executed, nil, err
	}
	whole, err := g.Run.Join(g.Processes)
	if err != nil {
		return k, nil, executed, nil, err
	}
	t := *g.Run
	if processes, t.Processes, err = keptProcesses(g); err != nil {
		return k, nil, executed, nil, err
	}
	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		return k, nil, executed, nil, err
	}
	run, executed := index.Executed(whole)
	return knowledge.KeptTrace{
		ID: fileID(file.Bytes())[:knowledge.TraceIDLength], Module: tracedModule(&t), Commit: cmp.Or(commit, run.Snapshot, here),
		Package: run.Package, Test: run.Test, Command: run.Command, Name: t.Name, Passed: run.Passed, Recorded: e.Saved,
	}, file.Bytes(), executed, processes, nil
}

// keptProcesses are the files of a run's processes, each once, and their list with the ids of these: masked, they have others.
func keptProcesses(g *session.Group) (files []knowledge.ProcessFile, list []trace.Process, err error) {
	list = slices.Clone(g.Run.Processes)
	size := 0
	there := map[string]bool{}
	for i, p := range g.Processes {
		if p == nil {
			continue // its id says that there was one
		}
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			return nil, nil, err
		}
		id := fileID(file.Bytes())[:len(list[i].Trace)]
		list[i].Trace = id
		if there[id] {
			continue
		}
		there[id] = true
		files = append(files, knowledge.ProcessFile{ID: id, File: file.Bytes()})
		if size += file.Len(); size > mostPushed {
			return nil, nil, fmt.Errorf("the files of its processes have more than %d MiB, which is too much for a database\nname the other traces", mostPushed>>20)
		}
	}
	return files, list, nil
}

// fileID is the beginning of which a store names a trace by.
func fileID(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// tracedModule is the module of a trace's program, or else its package.
func tracedModule(t *trace.Trace) string {
	return cmp.Or(t.Program.Main.Path, t.Program.MainPath, filepath.Base(t.Program.Path))
}
