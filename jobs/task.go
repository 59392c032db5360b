package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what a job does.
type Kind string

// The kinds of jobs.
const (
	// Index brings what is known of a git URL up to date. Its version is a commit.
	Index Kind = "index"
	// Summarise has a model say what the units of an indexed git URL do. Its version is the commit.
	Summarise Kind = "summarise"
	// Record records the tests of a git URL. Its version is the commit.
	Record Kind = "record"
	// Embed has a model make the vectors of the functions of an indexed git URL. Its version is the commit.
	Embed Kind = "embed"
	// Locate finds the places of a report. It is what who asks calls it; its version is a hash of what is asked.
	Locate Kind = "locate"
	// Try judges a change of a git URL. It is what who asks calls it; its version is a hash of what is asked.
	Try Kind = "try"
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Index, Summarise, Record, Embed, Locate, Try} }

// ParseKinds reads kinds with commas between them; "" is Index, which takes nothing but git.
func ParseKinds(s string) ([]Kind, error) {
	if s == "" {
		return []Kind{Index}, nil
	}
	var list []Kind
	for name := range strings.SplitSeq(s, ",") {
		k := Kind(strings.TrimSpace(name))
		if !slices.Contains(Kinds(), k) {
			var all []string
			for _, k := range Kinds() {
				all = append(all, string(k))
			}
			return nil, fmt.Errorf("%q is no kind of job: must be one of %s", name, strings.Join(all, ", "))
		}
		if !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list, nil
}

// Task is what a job is to do. Equal tasks are one job.
type Task struct {
	Kind    Kind   `json:"-"`
	What    string `json:"what"`    // a git URL, with a branch or tag after "#"; of [Locate] and [Try] an ID
	Version string `json:"version"` // of what
}

// Priority says which jobs go first.
type Priority int

// The priorities. River has these four, and starts the lowest number first.
const (
	Asked   Priority = 1 // a person waits for it
	Changed Priority = 2 // something that is followed has changed
	Derived Priority = 3 // it may be done at night
	Night   Priority = 4 // after all else
)

// tries is how often a job is tried before it is set aside. With the pauses between that takes six hours: a server
// may be away for that long.
const tries = 12

// pause is how long after its nth try a job is tried again.
func pause(n int) time.Duration {
	const first, longest = 10 * time.Second, time.Hour
	d := first
	for range n - 1 {
		if d *= 3; d > longest {
			return longest
		}
	}
	return d
}

// What jobs are to do as river keeps it: a type for each kind.
type (
	indexArgs     struct{ Task }
	summariseArgs struct{ Task }
	recordArgs    struct{ Task }
	embedArgs     struct{ Task }
	locateArgs    struct{ Task }
	tryArgs       struct{ Task }
)

// Kind is of [river.JobArgs].
func (indexArgs) Kind() string { return string(Index) }

// Kind is of [river.JobArgs].
func (summariseArgs) Kind() string { return string(Summarise) }

// Kind is of [river.JobArgs].
func (recordArgs) Kind() string { return string(Record) }

// Kind is of [river.JobArgs].
func (embedArgs) Kind() string { return string(Embed) }

// Kind is of [river.JobArgs].
func (locateArgs) Kind() string { return string(Locate) }

// Kind is of [river.JobArgs].
func (tryArgs) Kind() string { return string(Try) }
