package locate

import (
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/parallel"
)

type fileKey struct {
	repository int64
	path       string
}

// read reads the files of candidates, on all processors.
func (s *search) read() error {
	var files []knowledge.Decl // one declaration of each
	var ids []int64
	for _, c := range s.sorted() {
		k := fileKey{c.Repository, c.Path}
		if _, ok := s.texts[k]; !ok {
			s.texts[k] = nil
			files, ids = append(files, c.Decl), append(ids, c.File)
		}
	}
	hashes, err := s.store.Hashes(s.ctx, ids)
	if err != nil {
		return err
	}
	now := make([]*lookup.File, len(files))
	err = parallel.Try(len(files), func(i int) error {
		d := &files[i]
		if text, err := s.o.Text(s.repo(d.Repository), d.Path); err == nil {
			now[i] = lookup.FileNow(text, hashes[d.File])
		}
		return nil
	})
	for i, f := range now {
		s.texts[fileKey{files[i].Repository, files[i].Path}] = f
		if f != nil && f.Changed() {
			s.stale[files[i].Path] = true
		}
	}
	return err
}

// textOf returns the text and the doc comment of a declaration as they are now; ok is
// false if it is gone.
func (s *search) textOf(d *knowledge.Decl) (body, doc string, ok bool) {
	f := s.texts[fileKey{d.Repository, d.Path}]
	if f == nil {
		return "", "", false
	}
	now, ok := f.Decl(&d.Decl)
	if !ok {
		return "", "", false
	}
	d.Decl = now
	return string(now.Of(f.Text)), string(now.Doc.Of(f.Text)), true
}
