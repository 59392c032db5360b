package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

// mostPushed is how large a trace's file may be: PostgreSQL's limit of a value is not far above.
const mostPushed = 512 << 20

// push takes a trace into a team's database. commit is what the user says, here that of the working tree.
func push(ctx context.Context, s *session.Session, db knowledge.Traces, e store.Entry, commit, here string) (bool, error) {
	k, file, executed, err := kept(s, e, commit, here)
	if err != nil {
		return false, err
	}
	return db.PushTrace(ctx, k, file, executed)
}

// kept is a trace as a team's database has it.
func kept(s *session.Session, e store.Entry, commit, here string) (k knowledge.KeptTrace, _ []byte, executed knowledge.Executed, err error) {
	if e.Size > mostPushed {
		return k, nil, executed, fmt.Errorf("its file has %d MiB, and a database takes %d MiB\nname the other traces", e.Size>>20, mostPushed>>20)
	}
	t, _, err := s.Load(e.Path)
	if err != nil {
		return k, nil, executed, err
	}
	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		return k, nil, executed, err
	}
	run, executed := index.Executed(t)
	sum := sha256.Sum256(file.Bytes())
	return knowledge.KeptTrace{
		ID: hex.EncodeToString(sum[:])[:knowledge.TraceIDLength], Module: tracedModule(t), Commit: cmp.Or(commit, run.Snapshot, here),
		Package: run.Package, Test: run.Test, Command: run.Command, Name: t.Name, Passed: run.Passed, Recorded: e.Saved,
	}, file.Bytes(), executed, nil
}

// tracedModule is the module of a trace's program, or else its package.
func tracedModule(t *trace.Trace) string {
	return cmp.Or(t.Program.Main.Path, t.Program.MainPath, filepath.Base(t.Program.Path))
}
