package catalog

import (
	"context"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/summary"
)

// does says what declarations do, by their numbers: in the words of a model, or from the code. line is that of the file if
// all are of one.
func (s *Server) does(ctx context.Context, units []*lookup.Unit) (line string, about map[int64]string, err error) {
	about = map[int64]string{}
	paths := map[int64][]string{} // by repository
	wanted := map[int64]bool{}    // files
	for _, u := range units {
		about[u.ID] = ""
		if !wanted[u.File] {
			wanted[u.File] = true
			paths[u.Decl.Repository] = append(paths[u.Decl.Repository], u.Path)
		}
	}
	var files []knowledge.File
	for _, u := range units { // in their order, each repository once
		id := u.Decl.Repository
		if paths[id] == nil {
			continue
		}
		found, err := s.content.Store.Files(ctx, paths[id], []int64{id})
		if err != nil {
			return "", nil, err
		}
		delete(paths, id)
		for _, f := range found {
			if wanted[f.ID] {
				files = append(files, f)
			}
		}
	}
	model, err := s.summarisedBy(ctx)
	if err != nil {
		return "", nil, err
	}
	book := summary.Book{Store: s.content.Store, Read: s.content.Text, Learn: s.content.Secrets.LearnTexts, Mask: s.content.Secrets.Text, Kept: s.content.Store, Model: model}
	list, err := book.Decls(ctx, files, func(decl int64) bool { _, ok := about[decl]; return ok })
	for _, f := range list {
		for _, d := range f.Decls {
			if _, ok := about[d.ID]; ok {
				about[d.ID] = d.Text
			}
		}
	}
	if len(list) == 1 {
		line = list[0].Line
	}
	return line, about, err
}

// modelFor is how long the model is taken for that with the most summaries.
const modelFor = time.Minute

// summarisedBy returns the model whose summaries are shown.
func (s *Server) summarisedBy(ctx context.Context) (string, error) {
	if s.content.Model != "" {
		return s.content.Model, nil
	}
	s.mu.Lock()
	model, fresh := s.model, time.Since(s.looked) < modelFor
	s.mu.Unlock()
	if fresh {
		return model, nil
	}
	models, err := s.content.Store.SummaryModels(ctx)
	if err != nil {
		return "", err
	}
	model = ""
	if len(models) > 0 {
		model = models[0]
	}
	s.mu.Lock()
	s.model, s.looked = model, time.Now()
	s.mu.Unlock()
	return model, nil
}
