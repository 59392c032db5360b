package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/repair"
)

// NoneError says that no repair is kept.
type NoneError struct{ ID string } // "" is the last one

func (e *NoneError) Error() string {
	if e.ID == "" {
		return "no repair is kept"
	}
	return fmt.Sprintf("no repair %s is kept", e.ID)
}

// Kept is a repair that was carried out, or began to be.
type Kept struct {
	ID     string         `json:"id"`
	Spec   Spec           `json:"asked"`
	Result *repair.Result `json:"result,omitempty"` // nil: it has not come to an end
}

// DamagedError says that what is kept of a repair can't be read.
type DamagedError struct {
	ID, Dir string
	Err     error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("what is kept of repair %s is damaged: %v: remove %s, and repair again", e.ID, e.Err, e.Dir)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Load returns a repair by its ID or the beginning of it, "" for the last one that was begun. Changes that were only
// judged, and what is damaged, are found by name alone.
func Load(kept, id string) (*Kept, error) {
	if strings.ContainsAny(id, `/\.`) {
		return nil, &NoneError{id}
	}
	entries, err := os.ReadDir(kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	type repaired struct {
		name string
		at   time.Time
	}
	var list []repaired
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(kept, e.Name(), "job.json"))
		if err == nil && strings.HasPrefix(e.Name(), id) {
			list = append(list, repaired{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b repaired) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.name, a.name)) })
	var damaged error
	for _, r := range list {
		k, err := load(kept, r.name)
		if err == nil && (id != "" || !k.Spec.Judged) {
			return k, nil
		}
		damaged = cmp.Or(damaged, err)
	}
	if damaged != nil {
		return nil, damaged
	}
	return nil, &NoneError{id}
}

// load reads what is kept of a repair.
func load(kept, id string) (*Kept, error) {
	k := &Kept{ID: id}
	dir := filepath.Join(kept, id)
	read := func(name string, v any) error {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(data, v) == nil {
			return err
		}
		if err == nil {
			err = fmt.Errorf("%s was not written by tracerag", name)
		}
		return &DamagedError{id, dir, err}
	}
	if err := read("job.json", &k.Spec); err != nil {
		return nil, err
	}
	if k.Spec.Dir == "" {
		return nil, &DamagedError{id, dir, errors.New("job.json names no directory")}
	}
	if err := read("result.json", &k.Result); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if k.Result != nil && slices.Contains(k.Result.Candidates, nil) {
		return nil, &DamagedError{id, dir, errors.New("result.json lacks a candidate")}
	}
	return k, nil
}

// Last is what the last repair was asked for.
func Last(kept string) (Spec, error) {
	k, err := Load(kept, "")
	if err != nil {
		return Spec{}, err
	}
	return k.Spec, nil
}

// String says what became of it, for people.
func (k *Kept) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "repair %s\n", k.ID)
	if k.Spec.Test != "" {
		fmt.Fprintf(&b, "test %s:%s\n", k.Spec.Package, k.Spec.Test)
	}
	if k.Spec.Report != "" {
		fmt.Fprintf(&b, "report %s\n", strings.ReplaceAll(strings.TrimSpace(k.Spec.Report), "\n", "\n       "))
	}
	if k.Result == nil && k.Spec.Judged {
		b.WriteString("changes were judged for it, and no repair was begun\n")
		return b.String()
	}
	if k.Result == nil {
		b.WriteString("it has not come to an end\n")
		return b.String()
	}
	for _, c := range k.Result.Candidates {
		fmt.Fprintf(&b, "\n%s\n", c.Text())
		if c.Like > 0 {
			continue
		}
		switch v := c.Verdict; {
		case v != nil && !v.Accepted:
			b.WriteString(v.String())
		case v != nil && v.First != nil:
			b.WriteString(v.First.String() + "\n")
		}
		b.WriteString(c.Diff)
	}
	if k.Result.Number > 0 {
		fmt.Fprintf(&b, "\ncandidate %d was chosen: %s\n", k.Result.Number, k.Result.Why)
	} else {
		b.WriteString("\nno change was accepted\n")
	}
	fmt.Fprintf(&b, "%s\n", k.Result.Totals)
	return b.String()
}
