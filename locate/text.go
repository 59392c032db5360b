package locate

import (
	"crypto/sha256"

	"tracerag/code"
	"tracerag/knowledge"
)

type fileKey struct {
	repository int64
	path       string
}

// text is a file as it is now.
type text struct {
	bytes []byte
	hash  code.Hash
	file  *code.File // parsed anew, if it is not as it was indexed
}

// read reads the files of candidates, and drops candidates that are gone.
func (s *search) read() error {
	paths := map[int64][]string{}
	for _, c := range s.sorted() {
		k := fileKey{c.Repository, c.Path}
		if s.texts[k] != nil {
			continue
		}
		t := &text{}
		s.texts[k] = t
		paths[c.Repository] = append(paths[c.Repository], c.Path)
		if b, err := s.o.Text(s.repo(c.Repository), c.Path); err == nil {
			sum := sha256.Sum256(b)
			t.bytes = b
			copy(t.hash[:], sum[:])
		}
	}
	for repo, ps := range paths {
		files, err := s.store.Files(s.ctx, ps, []int64{repo})
		if err != nil {
			return err
		}
		for i := range files {
			f := &files[i]
			if t := s.texts[fileKey{repo, f.Path}]; t != nil && t.hash != f.Hash {
				s.stale[f.Path] = true
				t.file = code.Parse(t.bytes)
			}
		}
	}
	return nil
}

// textOf returns the text and the doc comment of a declaration as they are now; ok is
// false if it is gone.
func (s *search) textOf(d *knowledge.Decl) (body, doc string, ok bool) {
	t := s.texts[fileKey{d.Repository, d.Path}]
	if t == nil || t.bytes == nil {
		return "", "", false
	}
	if t.file != nil {
		for i := range t.file.Decls {
			if now := &t.file.Decls[i]; now.Kind == d.Kind && now.Name == d.Name && now.Nth == d.Nth {
				d.Decl = *now
				return string(now.Of(t.bytes)), string(now.Doc.Of(t.bytes)), true
			}
		}
		return "", "", false
	}
	if d.End > len(t.bytes) || d.Doc.End > len(t.bytes) {
		return "", "", false
	}
	return string(d.Of(t.bytes)), string(d.Doc.Of(t.bytes)), true
}
