package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tracerag/phrase"
	"tracerag/trace"
)

// minPrefix is the length of the shortest beginning of an id that names a
// trace. One digit would name one by chance as soon as there are a few.
const minPrefix = 2

// shown is how many traces an error names before it only counts them.
const shown = 4

// NotFoundError says that a name means no trace.
type NotFoundError struct {
	Name string   // as it was given
	Dir  string   // of the store
	Have int      // traces in the store
	Near []string // names that may have been meant, the likeliest first
}

func (e *NotFoundError) Error() string {
	if e.Have == 0 {
		return fmt.Sprintf("no trace %s: %s is empty; make one: `tracerag run -- ./app`", e.Name, e.Dir)
	}
	if len(e.Near) > 0 {
		return fmt.Sprintf("no trace %s in %s: did you mean %s? `tracerag list` shows all %d", e.Name, e.Dir, strings.Join(e.Near, " or "), e.Have)
	}
	return fmt.Sprintf("no trace %s in %s: name one by its id or its first %d digits or more, by its name (a test's, a window's), by @last, @prev or @-N, or by the path of a file: `tracerag list` shows all %d",
		e.Name, e.Dir, minPrefix, e.Have)
}

// Find returns the trace that a name means:
//
//	@last       the one saved last; the empty name means the same
//	@prev, @-N  the one before it, the one N before it
//	ab12cd34    the id, or its first two or more digits when only one begins so; the whole
//	            id may be that of a process of a run ([Store.Processes])
//	20260102-030405.123-ab12cd34   the file's name, with or without .pb.gz
//	checkout    the name that its user gave it
//	a/b.pb.gz   the path of a trace file anywhere, relative to the working directory
//
// Equal traces have equal ids; the one saved last is meant. A name that means
// none gives a [*NotFoundError]; a beginning shared by several ids, an error that
// lists them.
func (s *Store) Find(name string) (Entry, error) {
	if strings.ContainsAny(name, "/"+string(filepath.Separator)) {
		return s.findFile(name)
	}
	list, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	if name == "" || name[0] == '@' {
		return s.findRecent(name, list)
	}
	if e, ok, err := findID(name, list); ok || err != nil {
		return e, err
	}
	if e, ok := s.findProcess(name); ok {
		return e, nil
	}
	for _, e := range list {
		if base := filepath.Base(e.Path); base == name || stemOf(base) == name {
			return e, nil
		}
	}
	if e, ok := s.findNamed(name, list); ok {
		return e, nil
	}
	if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() {
		return s.findFile(name)
	}
	return Entry{}, s.notFound(name, list)
}

// findNamed finds the trace that was saved last under a name of its own, such as
// a window's. Only the traces know their names: those are read whose files do not begin
// with another one, the newest first.
func (s *Store) findNamed(name string, list []Entry) (Entry, bool) {
	for _, e := range slices.Backward(list) {
		if other, known := headerName(e.Path); known && other != name {
			continue
		}
		if h, err := readFile(e.Path, s.Limit.ReadHead); err == nil && h.Trace.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

func headerName(path string) (name string, known bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	return trace.ReadName(f)
}

// findRecent finds a trace by how many were saved after it.
func (s *Store) findRecent(name string, list []Entry) (Entry, error) {
	back := 0
	switch name {
	case "", "@last":
		name = "@last"
	case "@prev":
		back = 1
	default:
		n, ok := strings.CutPrefix(name, "@-")
		var err error
		if back, err = strconv.Atoi(n); !ok || err != nil || back < 0 || n[0] == '+' {
			return Entry{}, s.notFound(name, list)
		}
	}
	if back >= len(list) {
		return Entry{}, s.notFound(name, list)
	}
	return list[len(list)-1-back], nil
}

// findID finds a trace by its id or the beginning of it.
func findID(name string, list []Entry) (Entry, bool, error) {
	prefix := strings.ToLower(name)
	if len(prefix) < minPrefix || len(prefix) > idLen || !isHex(prefix) {
		return Entry{}, false, nil
	}
	var found []Entry
	ids := map[string]bool{}
	for _, e := range list {
		if strings.HasPrefix(e.ID, prefix) {
			found = append(found, e)
			ids[e.ID] = true
		}
	}
	if len(ids) > 1 {
		return Entry{}, false, fmt.Errorf("%s begins the ids of %d traces: %s: give more digits", name, len(ids), candidates(found))
	}
	if len(found) == 0 {
		return Entry{}, false, nil
	}
	return found[len(found)-1], true, nil
}

// candidates names the newest of the entries, with the times that tell them apart.
func candidates(list []Entry) string {
	var out []string
	seen := map[string]bool{}
	more := 0
	for _, e := range slices.Backward(list) {
		switch {
		case seen[e.ID]:
		case len(out) == shown:
			more++
		default:
			out = append(out, fmt.Sprintf("%s (saved %s)", e.ID, e.Saved.Format("2006-01-02 15:04:05 UTC")))
		}
		seen[e.ID] = true
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// findFile makes an entry of a file that was named by its path.
func (s *Store) findFile(path string) (Entry, error) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{}, fmt.Errorf("no trace at %s: the file does not exist: `tracerag list` shows the saved traces", path)
	case err != nil:
		return Entry{}, err
	case !fi.Mode().IsRegular():
		return Entry{}, fmt.Errorf("%s is not a trace file: it is not a regular file", path)
	}
	e := Entry{Path: path, Size: fi.Size()}
	if answers, err := answerFiles(e); err == nil {
		for _, a := range answers {
			e.Size += a.size
		}
	}
	var named bool
	if e.Saved, e.ID, named = parseFileName(filepath.Base(path)); named {
		return e, nil
	}
	e.Saved = fi.ModTime().UTC()
	f, err := os.Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Entry{}, err
	}
	e.ID = hex.EncodeToString(sum.Sum(nil))[:idLen]
	return e, nil
}

func (s *Store) notFound(name string, list []Entry) error {
	e := &NotFoundError{Name: name, Dir: s.dir, Have: len(list)}
	if len(list) == 0 {
		return e
	}
	if n, ok := strings.CutPrefix(name, "@"); ok {
		// Few traces are the likely reason, not a slip of the finger.
		if _, err := strconv.Atoi(n); err == nil || name == "@prev" {
			e.Near = []string{"@last"}
			if len(list) > 1 {
				e.Near = []string{fmt.Sprintf("@-%d, the oldest", len(list)-1)}
			}
			return e
		}
	}
	type near struct {
		name     string
		distance int
	}
	// Half of the letters must be right, or the suggestion is noise.
	most := max(1, min(len(name), idLen)/2-1)
	var all []near
	add := func(candidate string) {
		typed := strings.ToLower(name)
		if d := phrase.Distance(typed, candidate); d <= most && !slices.Contains(all, near{candidate, d}) {
			all = append(all, near{candidate, d})
		}
	}
	if name[0] == '@' || !isHex(strings.ToLower(name)) {
		add("@last")
		add("@prev")
	}
	for _, entry := range slices.Backward(list) {
		add(entry.ID)
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	for _, n := range all[:min(len(all), shown)] {
		e.Near = append(e.Near, n.name)
	}
	return e
}
