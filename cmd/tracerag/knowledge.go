package main

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/pflag"

	"tracerag/trace/store"
)

// knowledgeFlags choose what is known of repositories.
type knowledgeFlags struct{ file string }

func (k *knowledgeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&k.file, "knowledge", "", "keep what is known of repositories in `FILE` (default: knowledge.db beside the traces)")
}

// path is the file, by the directory of traces.
func (k *knowledgeFlags) path(traces string) string {
	return cmp.Or(k.file, filepath.Join(traces, "knowledge.db"))
}

// moduleRoot is the root of the module around, or the working directory.
func (a *app) moduleRoot() string {
	dir, err := store.Locate("", "", a.cwd)
	if err != nil {
		return a.cwd
	}
	return filepath.Dir(dir)
}
