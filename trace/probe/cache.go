package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tracerag/trace/probe/patch"
	"tracerag/trace/target"
)

// planFiles is the number of plans that are kept, the latest used ones.
const planFiles = 64

// planFile is where the target's plan is kept: a name that is different for
// every program, by its build id, and for every choice of packages. It is ""
// for programs without a build id, of which nothing tells that they have
// changed.
func planFile(t *target.Target, o Options) string {
	f := t.Binary
	if o.CacheDir == "" || f.BuildID == "" {
		return ""
	}
	packages := map[string]bool{}
	for i := range f.Funcs {
		packages[f.Funcs[i].Package] = true
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", planner())
	fmt.Fprintf(h, "%q %q %d %x inlined=%t lines=%t\n", f.BuildID, f.GoVersion, len(f.Funcs), f.TextStart, !o.NoInlined, !o.NoLines)
	var names []string
	for pkg := range packages {
		if t.Records(pkg) {
			names = append(names, pkg)
		}
	}
	slices.Sort(names)
	for _, pkg := range names {
		fmt.Fprintf(h, "%q\n", pkg)
	}
	return filepath.Join(o.CacheDir, hex.EncodeToString(h.Sum(nil)[:16])+".plan")
}

// planner tells this build of ours from others, which may plan otherwise.
var planner = sync.OnceValue(func() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
})

// loadPlan returns the plan in a file, nil if there is none that can be used.
func loadPlan(path string) *patch.Plan {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	p, err := patch.Decode(data)
	if err != nil {
		return nil // of another version of ours, or damaged: it is planned and written anew
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it was used
	return p
}

// savePlan writes a plan. It does not matter if it cannot: then the next run
// plans again. Runs at the same time each write a file of their own and rename
// it into place when it is whole.
func savePlan(path string, p *patch.Plan) {
	if path == "" {
		return
	}
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(p.Encode())
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	prunePlans(dir)
}

// prunePlans removes the plans that were not used for the longest time.
func prunePlans(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil || len(files) <= planFiles {
		return
	}
	type aged struct {
		name string
		used time.Time
	}
	var all []aged
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			all = append(all, aged{f.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.used.Compare(a.used) })
	for _, f := range all[min(planFiles, len(all)):] {
		_ = os.Remove(filepath.Join(dir, f.name))
	}
}
