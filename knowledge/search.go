package knowledge

import (
	"path"
	"strings"

	"tracerag/code"
)

// Query asks for declarations by words.
type Query struct {
	Terms        []string // as package code/words makes them
	Repositories []int64  // empty is all
	Files        string   // a pattern of paths below the root, or of import paths; "" is all
	Kinds        []code.Kind
	Tests        bool // also those in tests, testdata, vendored and generated files
	Limit        int
	Weights      Weights // of the fields; zero is the store's own
}

// Weights says how much a term in a field counts.
type Weights struct{ Name, Receiver, Doc, Package, Body, Literals float64 }

// Hit is a declaration with words of a query.
type Hit struct {
	Decl
	Score float64 // BM25 with fields, the greater the better; comparable within one query
}

// Rarity says in how many functions terms are. Functions of tests, testdata, vendored and
// generated files are not counted.
type Rarity struct {
	Functions int
	With      []int   // for each term asked for
	Length    float64 // mean, in terms
}

// Vocabulary says in how many functions, counted as for [Rarity], and in the subjects of how many commits of
// a repository terms are.
type Vocabulary struct {
	Functions, Commits     int
	InFunctions, InCommits []int // for each term asked for
}

// Within reports whether a file is in what a pattern means: its path, its directory or
// its package's import path, all below one of these ("x/..."), or a pattern of package path
// for one of them.
func Within(pattern, file, pkg string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	if pattern == "" || pattern == "..." {
		return true
	}
	pattern, below := strings.CutSuffix(pattern, "/...")
	for _, name := range []string{file, path.Dir(file), pkg} {
		for {
			if ok, err := path.Match(pattern, name); ok && err == nil || name == pattern {
				return true
			}
			i := strings.LastIndexByte(name, '/')
			if !below || i < 0 {
				break
			}
			name = name[:i]
		}
	}
	return false
}
