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

// Load returns a repair by its ID or the beginning of it, "" for the last one.
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
	if len(list) == 0 {
		return nil, &NoneError{id}
	}
	last := slices.MaxFunc(list, func(a, b repaired) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	k := &Kept{ID: last.name}
	data, err := os.ReadFile(filepath.Join(kept, k.ID, "job.json"))
	if err == nil {
		err = json.Unmarshal(data, &k.Spec)
	}
	if err != nil {
		return nil, fmt.Errorf("repair %s: %w", k.ID, err)
	}
	data, err = os.ReadFile(filepath.Join(kept, k.ID, "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k.Result)
	}
	if err != nil {
		return nil, fmt.Errorf("repair %s: %w", k.ID, err)
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
	if k.Result == nil {
		b.WriteString("it has not come to an end\n")
		return b.String()
	}
	for _, c := range k.Result.Candidates {
		fmt.Fprintf(&b, "\n%s\n", c.Text())
		if c.Like > 0 {
			continue
		}
		if c.Verdict != nil && !c.Verdict.Accepted {
			b.WriteString(c.Verdict.String())
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
