package locate

import (
	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
)

type fileKey struct {
	repository int64
	path       string
}

// read reads the files of candidates.
func (s *search) read() error {
	paths := map[int64][]string{}
	texts := map[fileKey][]byte{}
	for _, c := range s.sorted() {
		k := fileKey{c.Repository, c.Path}
		if _, ok := s.texts[k]; ok {
			continue
		}
		s.texts[k] = nil
		if b, err := s.o.Text(s.repo(c.Repository), c.Path); err == nil {
			texts[k] = b
			paths[c.Repository] = append(paths[c.Repository], c.Path)
		}
	}
	for repo, ps := range paths {
		files, err := s.store.Files(s.ctx, ps, []int64{repo})
		if err != nil {
			return err
		}
		hashes := map[string]code.Hash{}
		for i := range files {
			hashes[files[i].Path] = files[i].Hash
		}
		for _, p := range ps {
			k := fileKey{repo, p}
			s.texts[k] = lookup.FileNow(texts[k], hashes[p])
			if s.texts[k].Changed() {
				s.stale[p] = true
			}
		}
	}
	return nil
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
