package record

import (
	"os"
	"path/filepath"

	"tracerag/trace/rebuild"
)

// The first build with a release of Go and the recorder in it compiles the standard library, which takes a minute in which nothing is
// seen. An empty file in the user's cache tells that it is behind us.

// firstBuild sends an event if the build that comes is the first one, and returns what is to be called when it has succeeded.
func (r *Runner) firstBuild(goroot string) (done func()) {
	done = func() {}
	cache, err := os.UserCacheDir()
	if err != nil || goroot == "" {
		return done
	}
	release, id := rebuild.Release(goroot)
	mark := filepath.Join(cache, "tracerag", "rebuilt", id)
	if _, err := os.Stat(mark); err == nil {
		return done
	}
	r.event(BuildsStandard{Release: release})
	return func() {
		// Without the file the message comes once more.
		if os.MkdirAll(filepath.Dir(mark), 0o700) == nil {
			_ = os.WriteFile(mark, nil, 0o600)
		}
	}
}
