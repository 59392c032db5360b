package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/target"
)

// planFiles is the number of plans, images and facts that are kept, the latest used ones.
const planFiles = 128

// planMagic begins a file with a plan. The plan's key follows, so that a plan under
// another's name is not used, and then the plan.
const planMagic = "tracerag plan file 1\n"

// planName is what the files of plans are called.
var planName = regexp.MustCompile(`^([0-9a-f]{32}\.(plan|facts|image)|new-[0-9]+)$`)

// planKey is the SHA-256 of everything that a plan depends on: the planner, the program's
// code and tables, and what is to be recorded. A build ID is not enough. Whoever
// builds may set it, and some build systems set the same for all programs.
type planKey [sha256.Size]byte

// newPlanKey returns the key of the target's plan by this planner; sum is that of its
// file.
func newPlanKey(planner string, sum []byte, t *target.Target, o Options) (key planKey) {
	f := t.Binary
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%x %s %s/%s\n", planner, sum, f.GoVersion, f.GOOS, f.GOARCH)
	fmt.Fprintf(h, "inlined=%t lines=%t\n", !o.NoInlined, !o.NoLines)
	// The program and the patterns are what the packages follow from that are recorded. A
	// list of them would do no better, and takes the table of functions.
	include, exclude := t.Choice()
	fmt.Fprintf(h, "%q %q\n", include, exclude)
	h.Sum(key[:0])
	return key
}

// planner tells this build of ours from others, which may plan otherwise. It reads
// the program that runs, which is not always the one that is at its path by now.
var planner = sync.OnceValues(func() (string, error) {
	const self = "/proc/self/exe"
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	id, _ := executable.BuildID(self) // that it has none says as much
	return fmt.Sprintf("%q %d %d", id, info.Size(), info.ModTime().UnixNano()), nil
})

// plans is the directory in which plans are kept. Others may have put something into
// it, or damaged what is there: it is used only if it is ours alone, and so is each
// file.
type plans struct {
	dir     *os.Root
	planner string
	key     planKey
	shape   shape // of the program
}

// openPlans opens the directory, which is made where there is none, and tells the target
// what is known of it. It is nil if it cannot be used: then each run plans anew. An error is
// about the target's file.
func openPlans(t *target.Target, o Options) (*plans, error) {
	if o.CacheDir == "" {
		return nil, nil
	}
	us, err := planner()
	if err != nil {
		return nil, nil
	}
	dir, err := privateDir(o.CacheDir)
	if err != nil {
		return nil, nil
	}
	c := &plans{dir: dir, planner: us}
	known, err := c.facts(t)
	if err != nil {
		dir.Close()
		return nil, err
	}
	t.KnowOwnCode(&known.Own)
	c.key, c.shape = newPlanKey(us, known.Sum, t, o), known.Shape
	return c, nil
}

// privateDir opens a directory that nobody else may write.
func privateDir(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	// As far as this directory itself links are followed: where plans are to be
	// kept is the user's choice. Whose directory it is counts.
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil {
		err = private(info)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return root, nil
}

// UsablePlans reports why plans cannot be kept in a directory: Options.CacheDir.
func UsablePlans(dir string) error {
	root, err := privateDir(dir)
	if err == nil {
		root.Close()
	}
	return err
}

// private reports why others may have written a file or directory.
func private(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner is unknown")
	}
	switch {
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it is user %d's", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write it (%v)", info.Mode())
	}
	return nil
}

func (c *plans) close() {
	if c != nil {
		c.dir.Close()
	}
}

func (c *plans) name() string { return hex.EncodeToString(c.key[:16]) + ".plan" }

// mostPlan bounds the size of a plan for a program. Hugo's takes a sixth of its code.
func mostPlan(s shape) int64 { return int64(1<<20 + s.End - s.Start) }

// load returns the plan that is kept, nil if there is none that can be used.
func (c *plans) load(f *executable.File) *plan.Plan {
	p, err := usable(c.encoded(), f)
	if err != nil {
		return nil
	}
	return p
}

// encoded returns the plan that is kept, as it was written; nil if there is none.
func (c *plans) encoded() []byte {
	if c == nil {
		return nil
	}
	data := c.read(c.name(), mostPlan(c.shape))
	rest, ok := bytes.CutPrefix(data, append([]byte(planMagic), c.key[:]...))
	if !ok {
		return nil
	}
	return rest
}

// usable reads a plan. An error says that it is of another version of ours, or damaged: then
// it is planned and written anew.
func usable(encoded []byte, f *executable.File) (*plan.Plan, error) {
	p, err := plan.Decode(encoded)
	if err == nil {
		err = p.Fits(f)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// read returns a file's content, nil if it is not ours alone, or longer than it may be.
func (c *plans) read(name string, most int64) []byte {
	return c.readInto(name, most, func(n int64) []byte { return make([]byte, n) })
}

// readInto is read into memory that room gives; nil is none.
func (c *plans) readInto(name string, most int64, room func(n int64) []byte) []byte {
	// Not to follow a link, and not to wait for whoever writes to a pipe.
	file, err := c.dir.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || private(info) != nil || info.Size() > most {
		return nil
	}
	data := room(info.Size()) // and no more, if it is growing
	if data == nil {
		return nil
	}
	if _, err := io.ReadFull(file, data); err != nil {
		return nil
	}
	now := time.Now()
	_ = c.dir.Chtimes(name, now, now) // it was used
	return data
}

// save keeps a plan. It does not matter if it cannot: then the next run plans again.
func (c *plans) save(p *plan.Plan) {
	if c != nil && c.write(c.name(), slices.Concat([]byte(planMagic), c.key[:], p.Encode())) {
		c.prune()
	}
}

// write writes a file. Runs at the same time each write one of their own and rename it
// into place when it is whole.
func (c *plans) write(name string, data []byte) bool {
	made, f, err := c.create()
	if err != nil {
		return false
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = c.dir.Rename(made, name)
	}
	if err != nil {
		_ = c.dir.Remove(made)
	}
	return err == nil
}

// create makes a new file.
func (c *plans) create() (name string, f *os.File, err error) {
	for i := range 100 {
		name = fmt.Sprintf("new-%d%02d", os.Getpid(), i)
		f, err = c.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if !errors.Is(err, os.ErrExist) {
			break
		}
	}
	return name, f, err
}

// remove forgets the plan and what is known of its program.
func (c *plans) remove(t *target.Target) {
	if c == nil {
		return
	}
	_ = c.dir.Remove(c.name())
	_ = c.dir.Remove(c.imageName())
	if key, _, ok := factsKey(c.planner, t.Binary.Info()); ok {
		_ = c.dir.Remove(factsName(key))
	}
	t.KnowOwnCode(nil)
}

// prune removes the plans that were not used for the longest time. Other files are
// none of our business.
func (c *plans) prune() {
	dir, err := c.dir.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	files, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	type aged struct {
		name string
		size int64
		used time.Time
	}
	var all []aged
	for _, f := range files {
		if info, err := f.Info(); err == nil && planName.MatchString(f.Name()) && !info.IsDir() {
			all = append(all, aged{f.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.used.Compare(a.used) })
	images := int64(0)
	for i, f := range all {
		if strings.HasSuffix(f.name, ".image") {
			images += f.size
		}
		if i >= planFiles || strings.HasSuffix(f.name, ".image") && images > mostImages {
			_ = c.dir.Remove(f.name)
		}
	}
}
