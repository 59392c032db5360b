package rows

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// UpdateNumber returns a number for an update, which no other one has: never 0.
func UpdateNumber() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}

// FreeName returns a name for a new repository that no other one has: the wanted one, the directory's
// with as many of those above it as it takes, the whole path, or one of the others.
func FreeName(r *knowledge.Repository, taken func(name string) (bool, error), others ...string) (string, error) {
	parts := strings.Split(strings.Trim(filepath.ToSlash(r.Root), "/"), "/")
	names := []string{r.Name}
	for i := len(parts) - 1; i >= 0; i-- {
		names = append(names, strings.Join(parts[i:], "/"))
	}
	for _, n := range append(append(names, r.Root), others...) {
		if n == "" {
			continue
		}
		if is, err := taken(n); err != nil || !is {
			return n, err
		}
	}
	return "", fmt.Errorf("every name for %s is taken", r.Root)
}

// ModuleDetail is a module as its row has it.
func ModuleDetail(m *code.Module) (string, error) {
	b, err := json.Marshal(m)
	return string(b), err
}

// SelectModules is the query of all modules.
const SelectModules = "SELECT repository, detail FROM module ORDER BY repository, ord"

// ReadRepositories reads repositories (id, name, host, root, url, revision, uncommitted, newest, listing,
// updating, calls_made, calls_now), and then their modules by [SelectModules]. Here is called for each
// repository with its host.
func ReadRepositories(repositories, modules Query, here func(r *knowledge.Repository, host string)) ([]knowledge.Repository, error) {
	list, err := All(repositories, func(scan Scan) (r knowledge.Repository, err error) {
		var host string
		var newest, updating int64
		var uncommitted, listing, made, now []byte
		if err := scan(&r.ID, &r.Name, &host, &r.Root, &r.URL, &r.Snapshot.Commit, &uncommitted, &newest, &listing, &updating, &made, &now); err != nil {
			return r, err
		}
		copy(r.Snapshot.Uncommitted[:], uncommitted)
		copy(r.Snapshot.Listing[:], listing)
		r.Snapshot.Time = instant(newest)
		r.Incomplete = updating != 0
		switch {
		case len(made) == 0:
			r.Calls = knowledge.NoCalls
		case string(made) == string(now) && !r.Incomplete:
			r.Calls = knowledge.FreshCalls
		default:
			r.Calls = knowledge.OldCalls
		}
		here(&r, host)
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return list, modules.Each(func(scan Scan) error {
		var id int64
		var detail string
		if err := scan(&id, &detail); err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(r knowledge.Repository) bool { return r.ID == id })
		if i < 0 { // begun since
			return nil
		}
		var m code.Module
		if err := json.Unmarshal([]byte(detail), &m); err != nil {
			return fmt.Errorf("a module of %s: %w", list[i].Name, err)
		}
		list[i].Modules = append(list[i].Modules, m)
		return nil
	})
}

// SelectCounts is the query of what [ReadCounts] reads, of the repository $1. Declarations and calls are
// many: each of them is looked at once.
const SelectCounts = `SELECT
	(SELECT count(*) FROM module WHERE repository = $1),
	(SELECT count(*) FROM package WHERE repository = $1),
	(SELECT count(*) FROM file WHERE repository = $1),
	(SELECT count(*) FROM file WHERE repository = $1 AND problem <> ''),
	decls.n, decls.functions, edges.static, edges.interface,
	(SELECT count(*) FROM run),
	(SELECT count(*) FROM ran_call),
	(SELECT count(*) FROM revision WHERE repository = $1)
	FROM (SELECT count(*) AS n, count(*) FILTER (WHERE d.kind IN (1, 2)) AS functions
		FROM decl d WHERE d.file IN (SELECT id FROM file WHERE repository = $1)) decls,
	(SELECT count(*) FILTER (WHERE e.kind = 1) AS static, count(*) FILTER (WHERE e.kind = 2) AS interface
		FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = $1) edges`

// ReadCounts reads what [SelectCounts] says.
func ReadCounts(q Query) (n knowledge.Counts, err error) {
	err = q.Each(func(scan Scan) error {
		return scan(&n.Modules, &n.Packages, &n.Files, &n.Unread, &n.Declarations, &n.Functions, &n.Static, &n.Interface, &n.Runs, &n.RanCalls, &n.Commits)
	})
	return n, err
}
