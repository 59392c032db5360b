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
	var ran, others []knowledge.File
	for _, f := range files {
		decls, err := s.In(ctx, []int64{f.ID})
		if err != nil {
			return nil, err
		}
		var ids []int64
		for _, d := range decls {
			if d.Kind.Callable() {
				ids = append(ids, d.ID)
			}
		}
		runs, err := s.Runs(ctx, ids)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(runs, func(r knowledge.Run) bool { return trace == "" || r.Trace == trace }) {
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
