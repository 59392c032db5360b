package summary

import (
	"context"
	"slices"

	"tracerag/knowledge"
)

// Program returns the files of a repository's program, those that saved runs executed first;
// with a trace's ID only those that it executed.
func Program(ctx context.Context, s knowledge.Reader, repository int64, trace string) ([]knowledge.File, error) {
	files, err := s.Product(ctx, repository)
	if err != nil {
		return nil, err
	}
	in := make([]int64, len(files))
	for i := range files {
		in[i] = files[i].ID
	}
	decls, err := s.In(ctx, in)
	if err != nil {
		return nil, err
	}
	callable := map[int64][]int64{} // by file
	var all []int64
	for _, d := range decls {
		if d.Kind.Callable() {
			callable[d.File] = append(callable[d.File], d.ID)
			all = append(all, d.ID)
		}
	}
	executed := func(ids []int64) (bool, error) {
		runs, err := s.Runs(ctx, ids)
		return slices.ContainsFunc(runs, func(r knowledge.Run) bool { return trace == "" || r.Trace == trace }), err
	}
	anything, err := executed(all)
	if err != nil {
		return nil, err
	}
	var ran, others []knowledge.File
	for _, f := range files {
		did := false
		if ids := callable[f.ID]; anything && len(ids) > 0 {
			if did, err = executed(ids); err != nil {
				return nil, err
			}
		}
		if did {
			ran = append(ran, f)
		} else {
			others = append(others, f)
		}
	}
	if trace != "" {
		return ran, nil
	}
	return append(ran, others...), nil
}
