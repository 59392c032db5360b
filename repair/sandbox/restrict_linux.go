package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// restrict takes from this thread what the command must not inherit.
func (b *box) restrict() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	switch b.order.Mechanism {
	case namespaces:
		return dropCapabilities(b.order.Root)
	case landlock:
		if b.order.Root {
			if err := dropCapabilities(true); err != nil {
				return err
			}
		}
		if err := landlocked(b.order.Command); err != nil {
			return err
		}
		if !b.order.Command.Limits.Network {
			return filtered()
		}
	}
	return nil
}

// setup are the capabilities, in their own namespaces alone, that the inner step needs.
var setup = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_PTRACE, unix.CAP_KILL, unix.CAP_SYS_RESOURCE, unix.CAP_SETPCAP}

// keeps are the capabilities that a superuser's programs expect, and that
// neither mount nor trace the first process.
var keeps = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_MKNOD, unix.CAP_SETFCAP}

func dropCapabilities(root bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if root && slices.Contains(keeps, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&head, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

// limitTasks limits the user's processes and threads from now on. In a namespace the kernel
// (5.14 and later) counts those of the namespace alone.
func (b *box) limitTasks() {
	n := b.order.Command.Limits.Processes
	if n == 0 {
		return
	}
	limit := uint64(tasks(n))
	if b.order.Mechanism != namespaces {
		limit += uint64(ownTasks())
	}
	unix.Prlimit(b.pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil)
}

// ownTasks counts the threads of this user.
func ownTasks() (n int) {
	entries, _ := os.ReadDir("/proc")
	uid := "\nUid:\t" + strconv.Itoa(os.Getuid()) + "\t"
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err == nil && strings.Contains(string(text), uid) {
			n += int(kilobytes(text, "Threads:") >> 10)
		}
	}
	return n
}

// loopback brings up this network namespace's one device.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bringing the loopback up: %w", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("bringing the loopback up: %w", err)
	}
	return nil
}

// refused is what the command tried in vain, as far as the kernel counts it.
func (b *box) refused() (list []string) {
	if b.order.Mechanism != namespaces || b.order.Command.Limits.Network {
		return nil
	}
	n := counter("/proc/self/net/snmp", "OutNoRoutes") + counter("/proc/self/net/snmp6", "Ip6OutNoRoutes")
	if n > 0 {
		list = append(list, "network: packets or connections to other machines") // how many depends on retries
	}
	return list
}

// counter is a number of a file of counters: names and numbers in two lines, or in one.
func counter(path, name string) int64 {
	text, _ := os.ReadFile(path)
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n
		}
		if i := slices.Index(names, name); i > 0 && i < len(fields) && fields[0] == names[0] {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			return n
		}
		names = fields
	}
	return 0
}
