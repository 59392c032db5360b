package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// go-landlock restricts all threads of a process. Here only the thread that starts the
// command may be restricted: the command must stay unable to signal and trace the others.

const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayWrite = mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// No rule permits making devices.
	handled = mayWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// What may be done with a file.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// landlockVersion is that of the kernel's interface, 0 if it has none.
func landlockVersion() int {
	v, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// The versions from which a part is there. Before the first one a program could
// empty any file of the user's.
const (
	landlockFiles   = 3 // Linux 6.2
	landlockTCP     = 4 // Linux 6.7
	landlockSignals = 6 // Linux 6.12; abstract Unix sockets, too
)

// landlocked restricts this thread, and what it starts, to the files that a command may
// see and change.
func landlocked(c inner) error {
	version := landlockVersion()
	if version < landlockFiles {
		return fmt.Errorf("the kernel's Landlock has version %d, needed is %d (Linux 6.2)", version, landlockFiles)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	if version >= landlockTCP && !c.Limits.Network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= landlockSignals {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !c.Limits.Network {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("making Landlock's rules: %w", errno)
	}
	defer unix.Close(int(fd))
	rules := &rules{fd: int(fd)}
	rules.files(c)
	if attr.Handled_access_net != 0 {
		rules.ports()
	}
	if rules.err != nil {
		return rules.err
	}
	if _, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restricting by Landlock: %w", errno)
	}
	return nil
}

type rules struct {
	fd  int
	err error
}

// files permits what a command may read and write. Rules can only permit. So everything beside a hidden
// directory gets a rule, and the directory itself gets none. Names in directories can be read everywhere.
func (r *rules) files(c inner) {
	r.path("/", unix.LANDLOCK_ACCESS_FS_READ_DIR)
	var hide []string
	for _, dir := range append([]string{"/tmp", "/var/tmp", "/run", "/dev"}, c.Hide...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != "/" {
			hide = append(hide, real)
		}
	}
	r.around("/", hide)
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"} {
		r.path("/dev/"+name, mayRead|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	}
	if c.Limits.Network {
		r.path("/run/systemd/resolve", mayRead)
	}
	for _, dir := range append([]string{c.Dir}, c.Read...) {
		r.path(dir, mayRead)
	}
	for _, dir := range c.Write {
		r.path(dir, mayWrite)
	}
	if c.Temp != "" {
		r.path(c.Temp, mayWrite)
	}
}

// around permits reading all that is below dir but not below one that is hidden.
func (r *rules) around(dir string, hide []string) {
	inside := false
	for _, h := range hide {
		if within(dir, h) {
			return
		}
		inside = inside || within(h, dir)
	}
	if !inside {
		r.path(dir, mayRead)
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			r.around(filepath.Join(dir, e.Name()), hide)
		}
	}
}

// path permits something below a path, or with a file, where there is one.
func (r *rules) path(path string, access uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 && r.err == nil {
		r.err = fmt.Errorf("permitting %s by Landlock: %w", path, errno)
	}
}

// ports permits connections to the ports that the system gives to servers that ask for
// none: those of tests, which serve themselves. Landlock knows no addresses. Servers
// of other machines have lower ports as a rule.
func (r *rules) ports() {
	low, high := uint64(32768), uint64(60999)
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(text), &low, &high)
	}
	for port := low; port <= high; port++ {
		attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port}
		_, _, errno := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), 2, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
		if errno != 0 {
			r.err = fmt.Errorf("permitting port %d by Landlock: %w", port, errno)
			return
		}
	}
}

// filtered forbids this thread, and what it starts, sockets by which it could reach others
// past Landlock: all but Unix sockets, TCP and those that ask the kernel about itself.
// Forbidden are also io_uring, which makes sockets unseen, and foreign system calls.
func filtered() error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil
	}
	const (
		number = 0 // struct seccomp_data
		archAt = 4
		arg0   = 16
		arg1   = 24
	)
	deny := func(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	p := &program{}
	p.load(archAt)
	p.unless(arch, deny(unix.ENOSYS))
	p.load(number)
	p.above(0x3fffffff, deny(unix.ENOSYS)) // x32
	p.equals(unix.SYS_IO_URING_SETUP, deny(unix.ENOSYS))
	p.elseAllow(unix.SYS_SOCKET)
	p.load(arg0)
	p.equals(unix.AF_UNIX, unix.SECCOMP_RET_ALLOW)
	p.equals(unix.AF_NETLINK, unix.SECCOMP_RET_ALLOW)
	for _, f := range []uint32{unix.AF_INET, unix.AF_INET6} {
		p.skipUnless(f, 4)
		p.load(arg1)
		p.and(0xf)
		p.equals(unix.SOCK_STREAM, unix.SECCOMP_RET_ALLOW)
		p.load(arg0)
	}
	p.ret(deny(unix.EACCES))
	fprog := unix.SockFprog{Len: uint16(len(p.code)), Filter: &p.code[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}

var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// program is one of the kernel's packet filter.
type program struct{ code []unix.SockFilter }

func (p *program) add(code uint16, k uint32, jt, jf uint8) {
	p.code = append(p.code, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}
func (p *program) load(at uint32)  { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }
func (p *program) and(mask uint32) { p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask, 0, 0) }
func (p *program) ret(what uint32) { p.add(unix.BPF_RET|unix.BPF_K, what, 0, 0) }
func (p *program) equals(k, what uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	p.ret(what)
}
func (p *program) unless(k, what uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 1, 0)
	p.ret(what)
}
func (p *program) above(k, what uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, k, 0, 1)
	p.ret(what)
}
func (p *program) elseAllow(k uint32) { p.unless(k, unix.SECCOMP_RET_ALLOW) }

// skipUnless jumps over n instructions, and the load that follows them.
func (p *program) skipUnless(k uint32, n uint8) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, n+1)
}
