package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount makes this mount namespace's tree what the command may see: everything read-only,
// what is hidden covered by empty directories, what may be written writable again.
//
// Everything that shows through is cloned before anything is covered, and put in place
// from the top of the tree downwards, so that a directory may be writable below one that
// is hidden below one that is read-only.
func (b *box) mount() error {
	c := b.order.Command
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separating the mounts: %w", err)
	}
	plan, err := layout(c)
	if err != nil {
		return err
	}
	for i := range plan {
		if err := plan[i].clone(); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making / read-only: %w", err)
	}
	var covers []string
	for i := range plan {
		p := &plan[i]
		if err := p.put(); err != nil {
			return err
		}
		if p.upper > 0 {
			b.uppers = append(b.uppers, p.upper)
		}
		if p.bare != nil {
			b.unlayered = append(b.unlayered, fmt.Sprintf("%s: %v", p.at, p.bare))
		}
		if p.kind == cover && !p.writable {
			covers = append(covers, p.at)
		}
	}
	for _, dir := range covers {
		if err := readOnly(dir); err != nil {
			return err
		}
	}
	return proc(b.order)
}

// proc shows the processes of this namespace, and to the superuser no switch of the kernel:
// those look at the user outside.
func proc(o order) error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if n := o.Command.Limits.Processes; n > 0 {
		// Since Linux 6.14 each PID namespace has one of its own. It also holds for the superuser,
		// whom RLIMIT_NPROC does not.
		os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(tasks(n))), 0)
	}
	if !o.Root {
		return nil
	}
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/latency_stats", "/proc/timer_list"} {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("covering %s: %w", path, err)
		}
		if err := readOnly(path); err != nil {
			return err
		}
	}
	return nil
}

func readOnly(path string) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making %s read-only: %w", path, err)
	}
	return nil
}

// The kinds of places, in the order in which those of one path are put there.
const (
	cover    = iota // an empty directory
	show            // what was there
	layer           // what was there, over other directories
	link            // a symbolic link
	terminal        // /dev/pts
)

// place is one mount, or link.
type place struct {
	kind     int
	at, from string
	writable bool
	size     int64 // of a cover
	mode     uint32
	below    []string
	work     string // of a layer: beside it, for the kernel
	optional bool
	fd       int
	lower    []int
	upper    int
	bare     error // why a layer shows only what is in itself; nil: it does not
}

// layout is the places of a command, from the top of the tree downwards.
func layout(c inner) ([]place, error) {
	var plan []place
	small := c.Limits.Memory / 4
	if small == 0 {
		small = 1 << 30
	}
	if c.Limits.Disk > 0 {
		small = min(small, c.Limits.Disk)
	}
	for _, dir := range append([]string{"/run"}, c.Hide...) {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if real == "/" {
			return nil, fmt.Errorf("the whole file system can't be hidden: %s", dir)
		}
		info, err := os.Lstat(real)
		switch {
		case err != nil:
		case info.IsDir():
			plan = append(plan, place{kind: cover, at: real, mode: uint32(info.Mode().Perm()), size: 1 << 20})
		default:
			plan = append(plan, place{kind: show, at: real, from: "/dev/null"})
		}
	}
	plan = append(plan, place{kind: cover, at: "/dev", mode: 0o755, size: 1 << 20})
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		plan = append(plan, place{kind: show, at: "/dev/" + name, from: "/dev/" + name, writable: true, optional: true})
	}
	for at, from := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		plan = append(plan, place{kind: link, at: "/dev/" + at, from: from})
	}
	plan = append(plan, place{kind: terminal, at: "/dev/pts"}, place{kind: cover, at: "/dev/shm", mode: 0o1777, size: small, writable: true})
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		real, err := filepath.EvalSymlinks(dir)
		switch {
		case err != nil:
		case c.Temp != "" && dir == "/tmp":
			plan = append(plan, place{kind: show, at: real, from: c.Temp, writable: true})
			// Whatever was in it is out of sight: shown again below it is only what may be seen.
			plan = append(plan, place{kind: cover, at: real, mode: 0o1777, size: 1 << 20, writable: true})
		default:
			plan = append(plan, place{kind: cover, at: real, mode: 0o1777, size: small, writable: true})
		}
	}
	if c.Limits.Network {
		plan = append(plan, place{kind: show, at: "/run/systemd/resolve", from: "/run/systemd/resolve", optional: true})
	}
	for _, dir := range c.Write {
		plan = append(plan, place{kind: show, at: dir, from: dir, writable: true})
	}
	for _, l := range c.Layers {
		plan = append(plan, place{kind: layer, at: l.Dir, from: l.Dir, below: l.Below, work: l.Work, writable: true})
	}
	for _, dir := range append([]string{c.Dir}, c.Read...) {
		if _, err := os.Stat(dir); err == nil && hidden(plan, dir) {
			plan = append(plan, place{kind: show, at: dir, from: dir})
		}
	}
	slices.SortStableFunc(plan, func(a, b place) int {
		return cmp.Or(cmp.Compare(strings.Count(a.at, "/"), strings.Count(b.at, "/")), strings.Compare(a.at, b.at), a.kind-b.kind)
	})
	return plan, nil
}

// hidden says whether a directory is not seen as it is: the place nearest above it decides.
func hidden(plan []place, dir string) bool {
	nearest := place{kind: show}
	for _, p := range plan {
		if (p.kind == cover || p.kind == show) && within(dir, p.at) && cmp.Or(cmp.Compare(len(p.at), len(nearest.at)), p.kind-nearest.kind) >= 0 {
			nearest = p
		}
	}
	return nearest.kind == cover || nearest.at != nearest.from
}

func (p *place) clone() error {
	p.fd = -1
	for _, dir := range p.below {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			p.lower = append(p.lower, fd)
		case unix.ENOENT: // it has nothing to show
		default:
			p.bare = fmt.Errorf("opening %s: %w", dir, err)
		}
	}
	if p.kind != show {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, p.from, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil && p.optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("showing %s: %w", p.from, err)
	}
	p.fd = fd
	if !p.writable {
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("making %s read-only: %w", p.from, err)
		}
	}
	return nil
}

func (p *place) put() error {
	switch p.kind {
	case show:
		if p.fd < 0 {
			return nil
		}
		defer unix.Close(p.fd)
		if err := p.point(); err != nil {
			return err
		}
		if err := unix.MoveMount(p.fd, "", unix.AT_FDCWD, p.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("showing %s: %w", p.at, err)
		}
	case cover:
		if err := os.MkdirAll(p.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", p.at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=%o,size=%d", p.mode, max(p.size, 1<<16))); err != nil {
			return fmt.Errorf("covering %s: %w", p.at, err)
		}
	case link:
		return os.Symlink(p.from, p.at)
	case terminal:
		if err := os.MkdirAll(p.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("devpts", p.at, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
			return fmt.Errorf("mounting %s: %w", p.at, err)
		}
	case layer:
		return p.overlay()
	}
	return nil
}

// point makes what something is mounted on, where a cover has hidden it.
func (p *place) point() error {
	var st unix.Stat_t
	if err := unix.Fstatat(p.fd, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	if _, err := os.Lstat(p.at); err == nil {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(p.at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p.at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.at, nil, 0o644)
}

// overlay lays a directory over others. Where that fails the directory is what it is by itself: a
// cache that starts empty. bare then says why.
func (p *place) overlay() error {
	var lower []string
	for _, fd := range p.lower {
		defer unix.Close(fd)
		lower = append(lower, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	work := p.work
	if len(lower) == 0 {
		return nil
	}
	if strings.ContainsAny(p.at, `,:\`) {
		p.bare = errors.New("an overlay can't have a comma, a colon or a backslash in its path")
		return nil
	}
	if work == "" {
		p.bare = errors.New("the kernel needs a directory beside it, which can't be made")
		return nil
	}
	fd, err := unix.Open(p.at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", strings.Join(lower, ":"), p.at, work)
	if err := unix.Mount("overlay", p.at, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		p.bare = fmt.Errorf("mounting an overlay: %w", err)
		return nil
	}
	p.upper = fd
	os.Chmod(filepath.Join(work, "work"), 0o700) // else an ordinary user can't remove it
	return nil
}

// tasks is how many threads and processes together the kernel is to allow for a limit on
// processes. A Go program has some ten threads; the watcher counts processes.
func tasks(processes int) int { return max(400, 16*processes+64) }
