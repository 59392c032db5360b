package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/rebuild"
	"tracerag/trace/target"
)

// errNotAgain says that a program was not built again. It has not run.
var errNotAgain = errors.New("it was not built again")

// again records a program that the go command has built and the probe cannot record, such as one that changes its own code:
// the go command builds it once more, with the recorder in it.
func (r *Runner) again(ctx context.Context, tgt *target.Target, why error, started func()) (*trace.Trace, error) {
	b := r.built
	b.again.Do(func() { // each of several tests is recorded with the same one
		r.event(BuildsAgain{Subject: filepath.Base(tgt.Args[0]), Why: why})
		b.againPath, b.againErr = r.buildAgain(ctx, tgt)
		if b.againErr != nil {
			r.event(NotRebuilt{Subject: filepath.Base(tgt.Args[0]), Why: b.againErr})
		}
	})
	if b.againErr != nil {
		return nil, errNotAgain
	}
	t, err := target.FindLater(append([]string{b.againPath}, tgt.Args[1:]...), r.Spec.Dir, r.Spec.Include, r.Spec.Exclude)
	if err != nil {
		return nil, err
	}
	t.Args, t.Dir = tgt.Args, tgt.Dir
	t.NoInput, t.Silent, t.Output, t.Errors = tgt.NoInput, tgt.Silent, tgt.Output, tgt.Errors
	return rebuild.Record(ctx, t, rebuild.Options{Memory: r.Spec.Recorder.Memory, Started: func(int) { started() }})
}

func (r *Runner) buildAgain(ctx context.Context, tgt *target.Target) (path string, err error) {
	b := r.built
	g, err := gocmd.Parse(b.goArgs)
	if err != nil || g == nil {
		return "", fmt.Errorf("the go command of %q: %w", b.goArgs, err)
	}
	if err := rebuild.Check(g.Goroot(ctx, r.Spec.Dir)); err != nil {
		return "", err
	}
	r.instrument(g)
	g.Debug = r.Spec.Values.observed()
	if b.againDir, err = os.MkdirTemp("", "tracerag-"); err != nil {
		return "", err
	}
	path = filepath.Join(b.againDir, filepath.Base(tgt.Path))
	args, err := g.Build(path, strings.TrimSuffix(tgt.Binary.MainPath, ".test"), r.Spec.Include, g.Goflags(ctx, r.Spec.Dir))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = r.Spec.Dir, os.Environ()
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return path, nil
}

// forget removes what was built again.
func (b *built) forget() {
	if b.againDir != "" {
		os.RemoveAll(b.againDir)
	}
}
