package sandbox

import "context"

// Enforced is one thing that a sandbox limits, and what enforces it on this machine.
type Enforced struct {
	Limit string // files, keys, network, signals, memory, processes, disk, time, remains
	By    string // what enforces it; "" where nothing does
	Holds bool   // a program that means to evade it can't
	Lacks string // what isn't covered
}

// Check says what this machine enforces, by trying it. name is the mechanism that is
// used; refused says of each stronger one why it can't be had.
func (s *Sandbox) Check(ctx context.Context) (name string, limits []Enforced, refused []error) {
	for _, m := range s.mechanisms(ctx, "") {
		if m.refused == nil {
			return m.name, enforced(m.name), refused
		}
		refused = append(refused, m.refused)
	}
	return "", enforced(""), refused
}

// always is what the watcher enforces everywhere that it runs.
func always(holds bool) []Enforced {
	watch := "a look at all processes, 20 to 60 times a second"
	return []Enforced{
		{"memory", watch, holds, "between two looks a program may take more"},
		{"disk", watch + ", and the kernel's limit on the size of a file", holds, "between two looks a program may write more"},
		{"time", "the end of all processes", holds, ""},
		{"output", "what is over the limit is not kept, and all processes are ended", true, ""},
	}
}

const nothingHolds = "nothing is refused: a program can do what its user can"

// plainly is what is enforced without an inner step.
func plainly() []Enforced {
	return []Enforced{
		{"files", "", false, nothingHolds},
		{"keys", "an environment of known variables", false, "files that this user can read"},
		{"network", "", false, nothingHolds},
		{"signals", "", false, nothingHolds},
		{"processes", "", false, ""},
		{"remains", "the end of its process group", false, "processes that have left the group"},
		{"memory", "", false, ""},
		{"disk", "", false, ""},
		{"time", "the end of its process group", false, ""},
		{"output", "what is over the limit is not kept, and its process group is ended", true, ""},
	}
}
