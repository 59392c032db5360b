package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tracerag/bench/corpus"
	"tracerag/code"
	"tracerag/code/calls"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
)

// withCalls gives the store of each case the calls of its commit, as package code/calls finds them.
// For that the commit is written into a temporary directory, and the go command downloads what it
// imports. dir keeps the calls: of 64 commits they take minutes.
func withCalls(log io.Writer, all []*loaded, set settings) error {
	for _, c := range all {
		clone, err := corpus.FindClone(set.clones, c.Repo)
		if err != nil {
			return err
		}
		list, err := keptCalls(clone, c.Base, set.calls)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		n := len(list)
		c.store.Edges, err = edgesOf(c.store, list)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "%s: %d calls, %d of them of declarations of the store\n", c.ID, n, len(c.store.Edges))
	}
	return nil
}

func keptCalls(clone corpus.Clone, commit, dir string) ([]calls.Edge, error) {
	name := filepath.Join(dir, commit+".json")
	var list []calls.Edge
	if data, err := os.ReadFile(name); err == nil {
		return list, json.Unmarshal(data, &list)
	}
	list, err := callsOf(clone, commit)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return list, os.WriteFile(name, data, 0o666)
}

// callsOf returns the calls of the modules of a commit.
func callsOf(clone corpus.Clone, commit string) ([]calls.Edge, error) {
	root, err := os.MkdirTemp("", "locating")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(root) }()
	if err := clone.Unpack(commit, root); err != nil {
		return nil, err
	}
	l, err := code.Scan(root, code.Options{})
	if err != nil {
		return nil, err
	}
	list := []calls.Edge{}
	for _, m := range l.Modules {
		if m.Testdata {
			continue
		}
		g, err := calls.Load(context.Background(), calls.Config{Dir: filepath.Join(l.Root, filepath.FromSlash(m.Dir)), Root: l.Root, Network: true})
		if err != nil {
			continue // a module of examples, as a rule: the others have their calls
		}
		list = append(list, g.Edges()...)
	}
	return list, nil
}

// edgesOf finds the declarations of calls.
func edgesOf(store *knowledgetest.Store, list []calls.Edge) ([]knowledge.Edge, error) {
	files, err := store.Product(context.Background(), 0)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(files))
	for i, f := range files {
		ids[i] = f.ID
	}
	decls, err := store.In(context.Background(), ids)
	if err != nil {
		return nil, err
	}
	at := map[knowledge.Place]int64{}
	for i := range decls {
		at[knowledge.Place{Path: decls[i].Path, Symbol: decls[i].Symbol()}] = decls[i].ID
	}
	var out []knowledge.Edge
	for _, e := range list {
		kind := knowledge.Interface
		if e.Kind == calls.Static {
			kind = knowledge.Static
		}
		caller, ok := at[knowledge.Place{Path: e.Caller.File, Symbol: e.Caller.Symbol}]
		callee, known := at[knowledge.Place{Path: e.Callee.File, Symbol: e.Callee.Symbol}]
		if ok && known {
			out = append(out, knowledge.Edge{Kind: kind, Caller: caller, Callee: callee, Site: e.Site})
		}
	}
	return out, nil
}
