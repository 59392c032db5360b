package rows

import (
	"path"
	"slices"
	"strings"
	"time"

	"tracerag/knowledge"
)

// Executions is of [knowledge.Store], by the symbols (id, package, name) with the last element of the name, in their
// order, and by what executed some of them: see [ReadKept] behind symbol and calls.
func Executions(f knowledge.FunctionName, symbols Query, executed func(symbols []int64) Query) ([]knowledge.Execution, error) {
	names := map[int64]string{}
	var ids []int64
	if err := symbols.Each(func(scan Scan) error {
		var id int64
		var pkg, name string
		err := scan(&id, &pkg, &name)
		if err == nil && isMeant(f, pkg, name) {
			names[id] = pkg + "." + name
			ids = append(ids, id)
		}
		return err
	}); err != nil || len(ids) == 0 {
		return nil, err
	}
	return All(executed(ids), func(scan Scan) (e knowledge.Execution, err error) {
		var id int64
		err = ReadKept(func(to ...any) error { return scan(append([]any{&id, &e.Calls}, to...)...) }, &e.KeptTrace)
		e.Function = names[id]
		return e, err
	})
}

// ReadKept reads a trace: its ID, module, commit, package, test, command, name, whether it passed, when it was recorded
// (microseconds, 0 unknown) and its size.
func ReadKept(scan Scan, k *knowledge.KeptTrace) error {
	var recorded int64
	err := scan(&k.ID, &k.Module, &k.Commit, &k.Package, &k.Test, &k.Command, &k.Name, &k.Passed, &recorded, &k.Size)
	if recorded != 0 {
		k.Recorded = time.UnixMicro(recorded).UTC()
	}
	return err
}

// isMeant reports whether a name means a function of a package: "M", "T.M" or "(*T).M".
func isMeant(f knowledge.FunctionName, pkg, name string) bool {
	typ, last := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		typ, last = strings.Trim(name[:i], "(*)"), name[i+1:]
	}
	if last != f.Name || f.Type != "" && f.Type != typ {
		return false
	}
	elements := strings.Split(f.Package, "/")
	has := strings.Split(pkg, "/")
	if f.Package == "" || len(has) >= len(elements) && slices.Equal(has[len(has)-len(elements):], elements) {
		return true
	}
	// The last element of "example.com/m/v2" is m.
	return len(elements) == 1 && len(has) > 1 && isVersion(has[len(has)-1]) && path.Base(path.Dir(pkg)) == f.Package
}

func isVersion(element string) bool {
	digits, ok := strings.CutPrefix(element, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
