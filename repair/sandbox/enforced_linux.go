package sandbox

import (
	"os"
	"runtime"
)

// enforced is what a mechanism enforces here.
func enforced(mechanism string) []Enforced {
	_, filter := architectures[runtime.GOARCH]
	return enforcedBy(mechanism, landlockVersion(), filter)
}

// enforcedBy is what it enforces with a version of Landlock, and with or without a filter of system calls.
func enforcedBy(mechanism string, v int, filter bool) []Enforced {
	switch mechanism {
	case namespaces:
		list := []Enforced{
			{"files", "a mount namespace: all but its own directories is read-only", true, ""},
			{"keys", "a mount namespace without the home directory, an environment of known variables, an empty key ring", true, "other files that this user can read"},
			{"network", "a network namespace with a loopback of its own", true, ""},
			{"signals", "a PID namespace: other processes are not there", true, ""},
			{"processes", "a look at all processes, 20 to 60 times a second, and the kernel's limit on tasks in the namespace", true, ""},
			{"remains", "the kernel ends all processes of a namespace with its first, and its mounts", true, ""},
		}
		if os.Geteuid() == 0 {
			list[1].Lacks = "as the superuser, all other files; run tracerag as an ordinary user"
		}
		return append(list, always(true)...)
	case landlock:
		list := []Enforced{
			{"files", "Landlock: it can write, make and remove only in its own directories", true, "it can change modes, owners and times of this user's files"},
			{"keys", "Landlock: files of the home directory can't be read; an environment of known variables", true, "names of files can be read; other files that this user can read"},
			{"network", "", false, "Landlock can't refuse connections before Linux 6.7"},
			{"signals", "", false, "Landlock can't refuse signals before Linux 6.12"},
			{"processes", "a look at all processes, 20 to 60 times a second, and the kernel's limit on this user's tasks", false, "the superuser has no limit on tasks"},
			{"remains", "this program's inner step ends them", false, "they stay if that is killed"},
		}
		switch {
		case v >= landlockTCP && !filter:
			list[2] = Enforced{"network", "Landlock: TCP to low ports is refused", false, "UDP and raw sockets, since system calls are filtered on amd64 and arm64 alone; TCP to high ports (see net.ipv4.ip_local_port_range), where tests serve themselves; Unix sockets that have a path"}
		case v >= landlockTCP:
			list[2] = Enforced{"network", "Landlock and a filter of system calls: TCP to low ports and all UDP are refused", false, "TCP to high ports (see net.ipv4.ip_local_port_range), where tests serve themselves; Unix sockets that have a path"}
		}
		if v >= landlockSignals {
			list[3] = Enforced{"signals", "Landlock: only to its own processes", true, ""}
		}
		return append(list, always(false)...)
	case watched:
		return append([]Enforced{
			{"files", "", false, nothingHolds},
			{"keys", "an environment of known variables", false, "files that this user can read"},
			{"network", "", false, nothingHolds},
			{"signals", "", false, nothingHolds},
			{"processes", "a look at all processes, 20 to 60 times a second", false, ""},
			{"remains", "this program's inner step ends them", false, "they stay if that is killed"},
		}, always(false)...)
	}
	return plainly()
}
