package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tracerag/filelock"
	"tracerag/repair/patch"
)

// Apply puts a change in place. If this process is killed meanwhile, the next repair completes it.
func Apply(ctx context.Context, kept, root string, p *patch.Patch) error {
	unlock, err := filelock.Wait(ctx, filepath.Join(kept, "applying"), nil)
	if err != nil {
		return err
	}
	defer unlock()
	return p.WriteKept(root, filepath.Join(kept, "applying.json"))
}

// finish completes what a killed process was putting in place, and says so.
func finish(ctx context.Context, o Options) error {
	unlock, err := filelock.Wait(ctx, filepath.Join(o.Kept, "applying"), nil)
	if err != nil {
		return err
	}
	defer unlock()
	note := o.Note
	if note == nil {
		note = func(string) {}
	}
	done, err := patch.Finish(o.Spec.Dir, filepath.Join(o.Kept, "applying.json"))
	if err != nil {
		note(err.Error())
	} else if len(done) > 0 {
		note(fmt.Sprintf("tracerag was killed while it put a change in place: it is complete now, with %s", strings.Join(done, ", ")))
	}
	return nil
}
