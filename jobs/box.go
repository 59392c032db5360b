package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tracerag/knowledge/index"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// Box is where code of a repository runs: in a copy of a commit's files, in a sandbox. It is code that nobody has read.
type Box struct {
	Run     func(context.Context, sandbox.Command) (sandbox.Result, error)
	Limits  sandbox.Limits // of a command
	Scratch string         // for copies; "": below the user's cache directory
}

// copyCommit copies the files of a URL's commit. Its clone is free then for those that index it. Modules are
// directories of the copy, as slash paths, the outer ones first.
func (s *session) copyCommit(ctx context.Context, url string, box *Box) (_ *trial.Trial, modules []string, commit string, err error) {
	release, err := index.Hold(ctx, url, s.Clones, nil)
	if err != nil {
		return nil, nil, "", err
	}
	defer release()
	place, err := index.Locate(ctx, url, s.Clones)
	if err != nil {
		return nil, nil, "", err
	}
	if commit = index.Head(ctx, place.Dir); commit == "" {
		return nil, nil, "", &FinalError{errors.New("it has no commit")}
	}
	modules, err = modulesBelow(place.Dir)
	if err == nil && len(modules) == 0 {
		err = errors.New("it has no Go module")
	}
	if err != nil {
		return nil, nil, "", &FinalError{err}
	}
	tree, err := trial.Open(ctx, trial.Options{Dir: filepath.Join(place.Dir, filepath.FromSlash(modules[0])), Scratch: box.Scratch, Limits: box.Limits, Workers: 1,
		Alone: true, Environ: environment(), Run: box.Run})
	if _, ok := errors.AsType[*trial.NotAloneError](err); ok {
		err = &FinalError{err}
	}
	return tree, modules, commit, err
}

// environment is that of go commands: none takes another toolchain because a repository says so.
func environment() []string { return append(os.Environ(), "GOTOOLCHAIN=local") }

// downloads fetches the modules that those of a copy need. Without those of the first module nothing can be done; of the others it
// returns what was not found.
func downloads(ctx context.Context, c *trial.Copy, modules []string) (problems []string, err error) {
	for i, m := range modules {
		if err := download(ctx, c.Go(), c.Root, m); err != nil {
			if i == 0 || ctx.Err() != nil {
				return nil, err
			}
			problems = append(problems, fmt.Sprintf("%s: %v", m, err))
		}
	}
	return problems, nil
}
