package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attack is one thing that a hostile program does, and what is to come of it.
type attack struct {
	name string
	by   []string // the mechanisms that stop it
	try  func(r *rig)
}

var all = []string{namespaces, landlock, watched}

var attacks = []attack{
	{"writes outside", []string{namespaces, landlock}, func(r *rig) {
		victim := filepath.Join(r.outside, "victim")
		must(r.t, os.WriteFile(victim, []byte("untouched"), 0o666))
		paths := []string{victim, filepath.Join(r.outside, "new")}
		_, out := r.run("write", paths...)
		for _, path := range paths {
			if strings.Contains(out, "write "+path+" <nil>") || strings.Contains(out, "remove "+path+" <nil>") {
				r.t.Errorf("%s was written or removed", path)
			}
		}
		if text, err := os.ReadFile(victim); string(text) != "untouched" {
			r.t.Errorf("the victim is %q, %v", text, err)
		}
		if left, _ := os.ReadDir(r.outside); len(left) != 1 {
			r.t.Errorf("outside is now %v", left)
		}
	}},
	{"opens the system's files for writing", []string{namespaces, landlock}, func(r *rig) {
		devices, _ := filepath.Glob("/dev/[vsn][dv][a-z0-9]*")
		paths := append(devices, "/etc/passwd", "/bin/sh", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs", "/dev/mem", "/dev/kmsg")
		if _, out := r.run("open", paths...); strings.Contains(out, "nil") {
			r.t.Errorf("%s", out)
		}
	}},
	{"writes outside through links and parents", []string{namespaces, landlock}, func(r *rig) {
		victim := filepath.Join(r.outside, "victim")
		must(r.t, os.WriteFile(victim, []byte("untouched"), 0o666))
		must(r.t, os.Symlink(r.outside, filepath.Join(r.scratch, "way")))
		r.run("write", filepath.Join(r.scratch, "way", "victim"), filepath.Join(r.scratch, "../../../../../../..", victim), "/proc/self/root"+victim)
		if text, err := os.ReadFile(victim); string(text) != "untouched" {
			r.t.Errorf("the victim is %q, %v", text, err)
		}
	}},
	{"writes where it may", all, func(r *rig) {
		path := filepath.Join(r.scratch, "tree", "file")
		r.run("write", path)
		if text, err := os.ReadFile(path); string(text) != "hostile" {
			r.t.Errorf("%q, %v", text, err)
		}
	}},
	{"reads keys in files", []string{namespaces, landlock}, func(r *rig) {
		var paths []string
		for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".git-credentials"} {
			path := filepath.Join(r.home, name)
			must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(r.t, os.WriteFile(path, []byte("secret-in-a-file"), 0o644))
			paths = append(paths, path, "/proc/self/root"+path)
		}
		if _, out := r.run("read", paths...); strings.Contains(out, "secret-in-a-file") {
			r.t.Errorf("it read\n%s", out)
		}
	}},
	{"reads what is shown below what is hidden", all, func(r *rig) {
		path := filepath.Join(r.home, "go", "pkg", "mod", "file")
		must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(r.t, os.WriteFile(path, []byte("module"), 0o644))
		c := r.command(r.hostile, "-do=read", path)
		c.Read = []string{filepath.Join(r.home, "go")}
		if _, out := r.runs(c); !strings.Contains(out, `"module" <nil>`) {
			r.t.Errorf("it read\n%s", out)
		}
	}},
	{"writes what is shown below what is hidden", []string{namespaces, landlock}, func(r *rig) {
		path := filepath.Join(r.home, "go", "file")
		must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(r.t, os.WriteFile(path, []byte("module"), 0o666))
		c := r.command(r.hostile, "-do=write", path)
		c.Read = []string{filepath.Join(r.home, "go")}
		r.runs(c)
		if text, _ := os.ReadFile(path); string(text) != "module" {
			r.t.Errorf("it wrote %s", text)
		}
	}},
	{"reads keys in environments", []string{namespaces, landlock}, func(r *rig) {
		// Another process of the same user has a key in its environment.
		other := exec.Command("sleep", "20")
		other.Env = append(os.Environ(), "OTHER_KEY=secret-of-another")
		must(r.t, other.Start())
		defer func() { other.Process.Kill(); other.Wait() }()
		_, out := r.run("environ")
		for _, secret := range []string{"secret-of-another", "secret-of-ours"} {
			if strings.Contains(out, secret) {
				r.t.Errorf("it read %s", secret)
			}
		}
	}},
	{"forks without end", all, func(r *rig) {
		res, _ := r.run("fork")
		r.stopped(res, Processes, 5*time.Second)
	}},
	{"makes threads without end", []string{namespaces}, func(r *rig) {
		res, out := r.run("threads")
		if res.Code == 0 && res.Stopped == "" {
			r.t.Errorf("%+v\n%s", res, out)
		}
	}},
	{"leaves a daemon", all, func(r *rig) {
		path := filepath.Join(r.scratch, "daemon")
		_, out := r.run("daemon", path)
		if !strings.Contains(out, "daemon <nil>") {
			r.t.Fatalf("it was not started: %s", out)
		}
		before, _ := os.ReadFile(path)
		time.Sleep(300 * time.Millisecond)
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			r.t.Errorf("the daemon writes on: %s, %s", before, after)
		}
	}},
	{"fills the disk", all, func(r *rig) {
		res, _ := r.run("disk", filepath.Join(r.scratch, "tree"))
		r.stopped(res, Disk, 10*time.Second)
	}},
	{"fills the disk with one file", all, func(r *rig) {
		c := r.command("/bin/sh", "-c", "exec head -c 1000000000 /dev/zero > one")
		res, _ := r.runs(c)
		if res.Stopped != Disk && res.Code == 0 {
			r.t.Errorf("%+v", res)
		}
	}},
	{"fills the disk with files without a name", all, func(r *rig) {
		res, _ := r.run("unlinked", filepath.Join(r.scratch, "tree"))
		r.stopped(res, Disk, 10*time.Second)
	}},
	{"fills the disk with small files", all, func(r *rig) {
		c := r.command(r.hostile, "-do=files", filepath.Join(r.scratch, "tree"))
		c.Disk = 20 << 20
		res, _ := r.runs(c)
		r.stopped(res, Disk, 20*time.Second)
	}},
	{"fills the temporary directory", []string{namespaces}, func(r *rig) {
		before, _ := filepath.Glob("/tmp/big*") // somebody else's
		res, _ := r.run("disk", "/tmp")
		r.stopped(res, Disk, 10*time.Second)
		if after, _ := filepath.Glob("/tmp/big*"); !slices.Equal(before, after) {
			r.t.Errorf("it wrote: there was %v, and is %v", before, after)
		}
	}},
	{"fills the memory", all, func(r *rig) {
		res, _ := r.run("memory")
		r.stopped(res, Memory, 5*time.Second)
		if res.Memory < 200<<20 || res.Memory > 1300<<20 {
			r.t.Errorf("it had used %d MB", res.Memory>>20)
		}
	}},
	{"fills the memory in many processes", all, func(r *rig) {
		res, _ := r.run("children")
		r.stopped(res, Memory, 5*time.Second)
	}},
	{"fills the memory by a file in memory", all, func(r *rig) {
		// The size of one file is limited as on disk, which 2 GB a second reach before somebody looks.
		c := r.command(r.hostile, "-do=memfd")
		c.Disk = 4 << 30
		res, out := r.runs(c)
		if res.Stopped != Memory {
			r.t.Errorf("%+v\n%s", res, out)
		}
	}},
	{"fills the memory by a file system in memory", []string{namespaces, landlock}, func(r *rig) {
		_, out := r.run("shm")
		if !strings.Contains(out, "shm open") && !strings.Contains(out, "no space left") {
			r.t.Errorf("%s", out)
		}
	}},
	{"prints without end", all, func(r *rig) {
		res, out := r.run("output")
		r.stopped(res, Output, 5*time.Second)
		if len(out) != 1<<20 {
			r.t.Errorf("%d bytes were kept", len(out))
		}
	}},
	{"never ends", all, func(r *rig) {
		c := r.command(r.hostile, "-do=sleep")
		c.Time = 500 * time.Millisecond
		res, _ := r.runs(c)
		r.stopped(res, Time, 2*time.Second)
	}},
	{"is interrupted", all, func(r *rig) {
		time.AfterFunc(300*time.Millisecond, r.stop)
		res, _ := r.run("sleep")
		r.stopped(res, Interrupted, 3*time.Second)
	}},
	{"opens the network", []string{namespaces, landlock}, func(r *rig) {
		// A server of another machine, as far as the sandbox can see, is on this one.
		reached := make(chan string, 10)
		var to []string
		listeners := []net.Listener{listenLow(r.t)}
		for _, path := range []string{"@tracerag-sandbox-" + strconv.Itoa(os.Getpid()), filepath.Join(r.outside, "s")} {
			l, err := net.Listen("unix", path)
			must(r.t, err)
			listeners = append(listeners, l)
		}
		for _, l := range listeners {
			defer l.Close()
			addr := l.Addr().Network() + ":" + l.Addr().String()
			if a, ok := l.Addr().(*net.TCPAddr); ok {
				addr = "tcp:" + outsideAddress(r.t) + ":" + strconv.Itoa(a.Port)
			}
			to = append(to, addr)
			go func() {
				if c, err := l.Accept(); err == nil {
					c.Close()
					reached <- addr
				}
			}()
		}
		p, err := net.ListenPacket("udp", ":0")
		must(r.t, err)
		defer p.Close()
		_, port, _ := net.SplitHostPort(p.LocalAddr().String())
		to = append(to, "udp:"+outsideAddress(r.t)+":"+port, "udp:127.0.0.1:"+port)
		go func() {
			if n, _, err := p.ReadFrom(make([]byte, 100)); err == nil {
				reached <- fmt.Sprintf("udp, %d bytes", n)
			}
		}()
		if r.mechanism == landlock {
			// Landlock lets a program connect to any socket that has a path.
			to = slices.DeleteFunc(to, func(s string) bool { return s == "unix:"+filepath.Join(r.outside, "s") })
		}
		_, out := r.run("net", to...)
		time.Sleep(100 * time.Millisecond)
		select {
		case who := <-reached:
			r.t.Errorf("%s was reached\n%s", who, out)
		default:
		}
	}},
	{"serves itself", []string{namespaces, landlock, watched}, func(r *rig) {
		_, out := r.run("loopback")
		want := "tcp false served <nil>\ntcp true served <nil>\nunix false served <nil>\nunix false served <nil>\n"
		if r.mechanism == landlock {
			want += "udp listen udp 127.0.0.1:0: socket: permission denied\n" // see docs/sandbox.md
		} else {
			want += "udp packet <nil> <nil>\n"
		}
		if out != want {
			r.t.Errorf("%s", out)
		}
	}},
	{"sends signals to others", []string{namespaces, landlock}, func(r *rig) {
		victim := exec.Command("sleep", "20")
		must(r.t, victim.Start())
		ended := make(chan error, 1)
		go func() { ended <- victim.Wait() }()
		res, out := r.run("kill", strconv.Itoa(victim.Process.Pid))
		if res.Code != 0 || !strings.Contains(out, "survived") {
			r.t.Errorf("it ended the sandbox: %+v\n%s", res, out)
		}
		select {
		case err := <-ended:
			r.t.Errorf("the victim ended: %v\n%s", err, out)
		default:
			victim.Process.Kill()
			<-ended
		}
	}},
	{"traces others", []string{namespaces, landlock}, func(r *rig) {
		victim := exec.Command("sleep", "20")
		must(r.t, victim.Start())
		defer func() { victim.Process.Kill(); victim.Wait() }()
		_, out := r.run("trace", strconv.Itoa(victim.Process.Pid))
		if strings.Contains(out, "true") || !strings.Contains(out, "trace false false") {
			r.t.Errorf("%s", out)
		}
	}},
	{"mounts", []string{namespaces, landlock}, func(r *rig) {
		victim, key := filepath.Join(r.outside, "victim"), filepath.Join(r.home, "key")
		must(r.t, os.WriteFile(victim, []byte("untouched"), 0o666))
		must(r.t, os.WriteFile(key, []byte("secret-in-a-file"), 0o644))
		_, out := r.run("mount", r.home, victim, key)
		for _, bad := range []string{"true", "remounted", "unmounted", "written", "secret"} {
			if strings.Contains(out, bad) {
				r.t.Errorf("%q in\n%s", bad, out)
			}
		}
		if text, _ := os.ReadFile(victim); string(text) != "untouched" {
			r.t.Errorf("it wrote %s", text)
		}
	}},
}

// listenLow listens on a port below those that the system gives to servers that ask for none.
func listenLow(t testing.TB) net.Listener {
	for port := 20000; port < 21000; port++ {
		if l, err := net.Listen("tcp", ":"+strconv.Itoa(port)); err == nil {
			return l
		}
	}
	t.Fatal("no free port")
	return nil
}

// outsideAddress is an address of this machine that is none of the loopback's.
func outsideAddress(t testing.TB) string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stopped requires that a limit ended a run, in time, and that nothing is left.
func (r *rig) stopped(res Result, why Reason, within time.Duration) {
	r.t.Helper()
	if res.Stopped != why || res.Wall > within {
		r.t.Errorf("%+v, want it stopped by %s within %s", res, why, within)
	}
}

// TestAttacks makes every attack under every mechanism that works here.
func TestAttacks(t *testing.T) {
	t.Parallel() // beside TestAsNobody, which makes the same as another user
	for _, m := range all {
		t.Run(m, func(t *testing.T) {
			if err := newRig(t, m).try(t.Context(), m, ""); err != nil {
				t.Skip(err)
			}
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) {
					if !slices.Contains(a.by, m) {
						t.Skipf("%s doesn't stop a program that %s", m, a.name)
					}
					r := newRig(t, m)
					a.try(r)
					if left := hostiles(r.hostile); len(left) > 0 {
						for _, pid := range left {
							syscall.Kill(pid, syscall.SIGKILL)
						}
						t.Errorf("%d processes were left", len(left))
					}
				})
			}
		})
	}
}

// hostiles are the processes of a program, and the inner steps of sandboxes that may start it.
func hostiles(path string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		text, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if strings.HasPrefix(exe, path) || strings.HasPrefix(string(text), path+"\x00") || strings.Contains(string(text), "\x00inner\x00"+filepath.Dir(path)+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}
