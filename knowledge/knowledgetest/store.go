// Package knowledgetest has a [knowledge.Reader] over texts in memory, for tests and for
// measurements on the commits of a git directory, which nobody checks out.
//
// A [Repository] is parsed once and may be in several stores. It is not changed after that.
package knowledgetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
)

// Repository is a parsed repository.
type Repository struct {
	name    string
	modules []code.Module
	commits []knowledge.Commit
	files   []knowledge.File
	decls   []knowledge.Decl // IDs and that of the file: indexes
	texts   map[string][]byte

	postings map[string][]posting // of functions
	lengths  []float64
	count    int // functions of the program
	length   float64
}

type posting struct {
	decl int
	freq float64
}

// nameWeight is how often a word of a function's name counts, as in package rank.
const nameWeight = 4

// Parser reads repositories. What it read once it does not read again: the commits of one
// repository have most files in common. Its zero value is ready.
type Parser struct {
	mu    sync.Mutex
	files map[code.Hash]*parsed
}

// parsed is a file that was read.
type parsed struct {
	*code.File
	freqs   []map[string]float64 // of functions
	lengths []float64
}

// Parse reads a repository: Go files and go.mod files, by their paths below the root.
func (p *Parser) Parse(name string, texts map[string][]byte, commits []knowledge.Commit) *Repository {
	r := &Repository{name: name, commits: commits, texts: texts, postings: map[string][]posting{}}
	terms := &words.Splitter{}
	var paths []string
	for p, text := range texts {
		if path.Base(p) == "go.mod" {
			for line := range strings.Lines(string(text)) {
				if m, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
					r.modules = append(r.modules, code.Module{Path: strings.Trim(m, "\" "), Dir: path.Dir(p)})
					break
				}
			}
		} else {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(r.modules, func(a, b code.Module) int { return cmp.Compare(a.Dir, b.Dir) })
	slices.Sort(paths)
	for _, path := range paths {
		r.parse(p, path, texts[path], terms)
	}
	if r.count > 0 {
		r.length /= float64(r.count)
	}
	return r
}

func (r *Repository) parse(by *Parser, p string, text []byte, terms *words.Splitter) {
	f := knowledge.File{ID: int64(len(r.files)), Entry: code.Entry{Path: p, Size: int64(len(text)), Class: class(p)}, Hash: code.HashText(text)}
	f.Module, f.Package = r.module(path.Dir(p))
	key := code.HashText(append([]byte(f.Package+"\x00"), text...))
	by.mu.Lock()
	file := by.files[key]
	by.mu.Unlock()
	if file == nil {
		file = read(text, path.Base(f.Package), terms)
		by.mu.Lock()
		if by.files == nil {
			by.files = map[code.Hash]*parsed{}
		}
		by.files[key] = file
		by.mu.Unlock()
	}
	f.PackageName, f.Generated, f.Constraint = file.Package, file.Generated, file.Constraint
	for _, i := range file.Imports {
		f.Imports = append(f.Imports, i.Path)
	}
	r.files = append(r.files, f)
	for i, d := range file.Decls {
		k := knowledge.Decl{ID: int64(len(r.decls)), File: f.ID, Package: f.Package, PackageName: f.PackageName, Path: p, Class: f.Class, Generated: f.Generated, Decl: d}
		if f.Module >= 0 {
			k.Module = r.modules[f.Module].Path
		}
		if f.Test && strings.HasSuffix(file.Package, "_test") {
			k.Package += "_test"
		}
		r.decls = append(r.decls, k)
		r.lengths = append(r.lengths, file.lengths[i])
		for t, n := range file.freqs[i] {
			r.postings[t] = append(r.postings[t], posting{int(k.ID), n})
		}
		if d.Kind.Callable() && product(&k) {
			r.count++
			r.length += file.lengths[i]
		}
	}
}

// read parses a file and counts the terms of its functions
func read(text []byte, pkg string, terms *words.Splitter) *parsed {
	f := &parsed{File: code.Parse(text)}
	for i := range f.Decls {
		d := &f.Decls[i]
		var freq map[string]float64
		length := 0.0
		if d.Kind.Callable() {
			freq = map[string]float64{}
			add := func(text string, weight float64) {
				words.Each(text, func(word string) {
					for _, t := range terms.Of(word) {
						freq[t] += weight
						length += weight
					}
				})
			}
			name := d.Name[strings.LastIndexByte(d.Name, '.')+1:]
			add(name, nameWeight)
			add(strings.TrimSuffix(d.Name, name), 1)
			add(string(d.Doc.Of(text)), 1)
			add(pkg, 1)
			add(string(d.Of(text)), 1)
		}
		f.freqs = append(f.freqs, freq)
		f.lengths = append(f.lengths, length)
	}
	return f
}

// module returns the module of a directory, and its import path.
func (r *Repository) module(dir string) (int, string) {
	best := -1
	for i, m := range r.modules {
		if m.Dir == "." || dir == m.Dir || strings.HasPrefix(dir, m.Dir+"/") {
			if best < 0 || len(m.Dir) > len(r.modules[best].Dir) || r.modules[best].Dir == "." {
				best = i
			}
		}
	}
	if best < 0 {
		return -1, dir
	}
	m := r.modules[best]
	return best, path.Join(m.Path, strings.TrimPrefix(strings.TrimPrefix(dir, m.Dir), "/"))
}

func class(p string) code.Class {
	c := code.Class{Test: strings.HasSuffix(p, "_test.go")}
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		c.Vendored = c.Vendored || dir == "vendor"
		c.Testdata = c.Testdata || dir == "testdata" || len(dir) > 1 && (dir[0] == '.' || dir[0] == '_')
	}
	return c
}

func product(d *knowledge.Decl) bool { return !d.Test && !d.Vendored && !d.Testdata && !d.Generated }

// Store is a set of repositories. IDs have the repository's place above shift.
type Store struct {
	Repos []*Repository
	Edges []knowledge.Edge
	Saved []knowledge.Run
	// Ran are, for each of Saved, the declarations that it executed.
	Ran [][]int64
}

const shift = 32

// Text returns the text of a file.
func (s *Store) Text(r *knowledge.Repository, path string) ([]byte, error) {
	text, ok := s.Repos[r.ID].texts[path]
	if !ok {
		return nil, fmt.Errorf("%s has no file %s", r.Name, path)
	}
	return text, nil
}

func (s *Store) decl(id int64) (knowledge.Decl, bool) {
	repo, i := id>>shift, int(id&(1<<shift-1))
	if repo < 0 || int(repo) >= len(s.Repos) || i >= len(s.Repos[repo].decls) {
		return knowledge.Decl{}, false
	}
	d := s.Repos[repo].decls[i]
	d.ID, d.Repository, d.File = id, repo, d.File|repo<<shift
	return d, true
}

// each calls f for the repositories that are asked for.
func (s *Store) each(ids []int64, f func(id int64, r *Repository)) {
	for i, r := range s.Repos {
		if len(ids) == 0 || slices.Contains(ids, int64(i)) {
			f(int64(i), r)
		}
	}
}

func (s *Store) declsOf(ids []int64, is func(*Repository, *knowledge.Decl) bool) []knowledge.Decl {
	var out []knowledge.Decl
	s.each(ids, func(id int64, r *Repository) {
		for i := range r.decls {
			if is(r, &r.decls[i]) {
				d, _ := s.decl(id<<shift | int64(i))
				out = append(out, d)
			}
		}
	})
	return out
}

// Repositories implements [knowledge.Reader].
func (s *Store) Repositories(context.Context) ([]knowledge.Repository, error) {
	var out []knowledge.Repository
	for i, r := range s.Repos {
		out = append(out, knowledge.Repository{ID: int64(i), Name: r.name, Root: "/" + r.name, Modules: r.modules})
	}
	return out, nil
}

// Search implements [knowledge.Reader]: BM25 with fields.
func (s *Store) Search(ctx context.Context, q knowledge.Query) ([]knowledge.Hit, error) {
	const k1, b = 1.5, .3
	rarity, err := s.Rarity(ctx, q.Terms, q.Repositories)
	if err != nil {
		return nil, err
	}
	var hits []knowledge.Hit
	s.each(q.Repositories, func(id int64, r *Repository) {
		scores := map[int]float64{}
		for i, t := range q.Terms {
			with := float64(rarity.With[i])
			idf := math.Log(1 + (float64(rarity.Functions)-with+.5)/(with+.5))
			for _, p := range r.postings[t] {
				scores[p.decl] += idf * p.freq * (k1 + 1) / (p.freq + k1*(1-b+b*r.lengths[p.decl]/rarity.Length))
			}
		}
		for i, score := range scores {
			d, _ := s.decl(id<<shift | int64(i))
			if (q.Tests || product(&d)) && (q.Kinds == nil || slices.Contains(q.Kinds, d.Kind)) && knowledge.Within(q.Files, d.Path, d.Package) {
				hits = append(hits, knowledge.Hit{Decl: d, Score: score})
			}
		}
	})
	slices.SortFunc(hits, func(a, b knowledge.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	if q.Limit > 0 {
		hits = hits[:min(len(hits), q.Limit)]
	}
	return hits, nil
}

// Rarity implements [knowledge.Reader].
func (s *Store) Rarity(_ context.Context, terms []string, repositories []int64) (knowledge.Rarity, error) {
	out := knowledge.Rarity{With: make([]int, len(terms))}
	s.each(repositories, func(_ int64, r *Repository) {
		out.Functions += r.count
		out.Length += r.length * float64(r.count)
		for i, t := range terms {
			for _, p := range r.postings[t] {
				if product(&r.decls[p.decl]) {
					out.With[i]++
				}
			}
		}
	})
	out.Length /= float64(max(out.Functions, 1))
	return out, nil
}

// Vocabularies implements [knowledge.Reader].
func (s *Store) Vocabularies(ctx context.Context, terms []string, repositories []int64) ([]knowledge.Vocabulary, error) {
	var list []knowledge.Vocabulary
	for _, id := range repositories {
		rarity, err := s.Rarity(ctx, terms, []int64{id})
		if err != nil {
			return nil, err
		}
		v := knowledge.Vocabulary{Functions: rarity.Functions, InFunctions: rarity.With, InCommits: make([]int, len(terms))}
		commits, err := s.History(ctx, id, math.MaxInt)
		if err != nil {
			return nil, err
		}
		for _, c := range commits {
			v.Commits++
			in := words.Terms(c.Subject)
			for i, t := range terms {
				if slices.Contains(in, t) {
					v.InCommits[i]++
				}
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// Named implements [knowledge.Reader].
func (s *Store) Named(_ context.Context, names []string, repositories []int64) ([]knowledge.Decl, error) {
	asked := map[string]bool{}
	for _, n := range names {
		asked[n] = true
	}
	has := func(d *knowledge.Decl) bool {
		return asked[d.Name] || asked[strings.NewReplacer("(*", "", ")", "").Replace(d.Name)] ||
			asked[d.Name[strings.LastIndexByte(d.Name, '.')+1:]]
	}
	return s.declsOf(repositories, func(_ *Repository, d *knowledge.Decl) bool { return has(d) }), nil
}

// Quoting implements [knowledge.Reader].
func (s *Store) Quoting(_ context.Context, texts []string, repositories []int64) ([]knowledge.Decl, error) {
	return s.declsOf(repositories, func(r *Repository, d *knowledge.Decl) bool {
		return d.Kind.Callable() && slices.ContainsFunc(code.Literals(string(d.Of(r.texts[d.Path])), nil), func(l string) bool {
			return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(l), strings.ToLower(t)) })
		})
	}), nil
}

// Decls implements [knowledge.Reader].
func (s *Store) Decls(_ context.Context, ids []int64) ([]knowledge.Decl, error) {
	var out []knowledge.Decl
	for _, id := range ids {
		if d, ok := s.decl(id); ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// Files implements [knowledge.Reader].
func (s *Store) Files(_ context.Context, paths []string, repositories []int64) ([]knowledge.File, error) {
	var out []knowledge.File
	s.each(repositories, func(id int64, r *Repository) {
		for _, f := range r.files {
			if slices.ContainsFunc(paths, func(p string) bool { return f.Path == p || strings.HasSuffix(f.Path, "/"+p) }) {
				f.ID, f.Repository = f.ID|id<<shift, id
				out = append(out, f)
			}
		}
	})
	return out, nil
}

// Product implements [knowledge.Reader].
func (s *Store) Product(_ context.Context, repository int64) ([]knowledge.File, error) {
	var out []knowledge.File
	s.each([]int64{repository}, func(id int64, r *Repository) {
		for _, f := range r.files {
			if f.Product() {
				f.ID, f.Repository = f.ID|id<<shift, id
				out = append(out, f)
			}
		}
	})
	slices.SortFunc(out, func(a, b knowledge.File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Holds implements [knowledge.Reader].
func (s *Store) Holds(_ context.Context, pattern string) (holds bool, err error) {
	s.each(nil, func(_ int64, r *Repository) {
		for _, f := range r.files {
			holds = holds || knowledge.Within(pattern, f.Path, f.ImportPath())
		}
	})
	return holds, nil
}

// Hashes implements [knowledge.Reader].
func (s *Store) Hashes(_ context.Context, files []int64) (map[int64]code.Hash, error) {
	hashes := map[int64]code.Hash{}
	s.each(nil, func(id int64, r *Repository) {
		for _, f := range r.files {
			if n := f.ID | id<<shift; slices.Contains(files, n) {
				hashes[n] = f.Hash
			}
		}
	})
	return hashes, nil
}

// In implements [knowledge.Reader].
func (s *Store) In(_ context.Context, files []int64) ([]knowledge.Decl, error) {
	asked := map[int64]bool{}
	for _, f := range files {
		asked[f] = true
	}
	var out []knowledge.Decl
	for i, r := range s.Repos {
		for j := range r.decls {
			if asked[r.decls[j].File|int64(i)<<shift] {
				d, _ := s.decl(int64(i)<<shift | int64(j))
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// Callers implements [knowledge.Reader].
func (s *Store) Callers(_ context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(func(e knowledge.Edge) bool { return slices.Contains(ids, e.Callee) }), nil
}

// Callees implements [knowledge.Reader].
func (s *Store) Callees(_ context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(func(e knowledge.Edge) bool { return slices.Contains(ids, e.Caller) }), nil
}

func (s *Store) edges(is func(knowledge.Edge) bool) []knowledge.Edge {
	var out []knowledge.Edge
	for _, e := range s.Edges {
		if is(e) {
			out = append(out, e)
		}
	}
	return out
}

// Runs implements [knowledge.Reader].
func (s *Store) Runs(_ context.Context, ids []int64) ([]knowledge.Run, error) {
	type counted struct {
		run knowledge.Run
		n   int
	}
	var all []counted
	for i, r := range s.Saved {
		n := 0
		for _, id := range ids {
			if slices.Contains(s.Ran[i], id) {
				n++
			}
		}
		if n > 0 {
			all = append(all, counted{r, n})
		}
	}
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(b.n, a.n) })
	var out []knowledge.Run
	for _, c := range all {
		out = append(out, c.run)
	}
	return out, nil
}

// History implements [knowledge.Reader].
func (s *Store) History(_ context.Context, repository int64, limit int) ([]knowledge.Commit, error) {
	c := s.Repos[repository].commits
	return c[:min(limit, len(c))], nil
}

var _ knowledge.Reader = (*Store)(nil)

// Functions calls f for the functions of the program, generated ones as well, with their
// comments and texts.
func (r *Repository) Functions(f func(d *knowledge.Decl, doc, text string)) {
	for i := range r.decls {
		if d := &r.decls[i]; d.Kind.Callable() && !d.Test && !d.Vendored && !d.Testdata {
			text := r.texts[d.Path]
			f(d, string(d.Doc.Of(text)), string(d.Of(text)))
		}
	}
}

// ImportPath returns the import path of a directory.
func (r *Repository) ImportPath(dir string) string {
	_, p := r.module(dir)
	return p
}
