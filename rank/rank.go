package rank

import (
	"cmp"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tracerag/trace/symbol"
)

// Function is a declaration that ran.
type Function struct {
	Package string // import path
	Name    string // in source terms: "F", "T.M", "(*T).M"
	Doc     string // comment
	Text    string // signature and body

	// Test says that it is in a test's file. It is what was run to see the
	// others, and tells by its name what the question says: it takes part,
	// and the others are not measured by it.
	Test bool
	// Callees are the indexes of the functions that it was seen to call.
	Callees []int
	// Startup says that an empty run of the program did all that it did.
	Startup bool
	// Reporting says that a failing test ran it only to report the failure.
	Reporting bool
	// Passing is in how many of Corpus.Passing it ran.
	Passing int
}

// names returns the type that a method is of, without a star, and the name.
func (f *Function) names() (receiver, name string) {
	i := strings.LastIndexByte(f.Name, '.')
	if i < 0 {
		return "", f.Name
	}
	return strings.Trim(f.Name[:i], "(*)"), f.Name[i+1:]
}

// Corpus is what ran, and what is known beside it.
type Corpus struct {
	Functions []Function // in the order of their first calls
	// Passing is the number of runs that did not fail, of the same program,
	// that Function.Passing counts in; 0 if none are known.
	Passing int
	// Background gives the other functions of the program, to tell which
	// words are rare in it. Their Text alone will do. Nil is none.
	Background iter.Seq[Function]
	// Known is what an index knows of the words of all functions, in place of
	// counting Functions and Background. Nil is nothing.
	Known *Known

	modules []Texts // what Background gives, by module
	kept    Keeper
}

// Known says in how many functions of a program terms are: those that [Terms] names.
type Known struct {
	Functions int
	With      map[string]int
	Length    float64 // mean, in words
}

// Ranked is a function's place.
type Ranked struct {
	Declaration // of recorded runs: see [Runs]

	Function int     // index into Corpus.Functions
	Score    float64 // comparable within one ranking; the best is about 1
	Reasons  []Reason
}

// Rank returns the functions of a corpus, the most relevant first. Equal ones stay
// in the order in which they were first called. The score of a function is
//
//	(text/best text + Said + Near/(1+distance)) * e^(sum of the factors)
//
// with the terms that apply to it: see [Weights].
func Rank(q Question, run Corpus, w Weights) []Ranked {
	a := ask(q, &w)
	texts := score(a, run, &w)
	best, bestTest := 0.0, 0.0
	for i := range texts {
		if run.Functions[i].Test {
			bestTest = max(bestTest, texts[i].score)
		} else {
			best = max(best, texts[i].score)
		}
	}
	if best == 0 {
		best = bestTest
	}
	near := distances(run.Functions, texts, best/2)

	out := make([]Ranked, len(run.Functions))
	for i := range out {
		f := &run.Functions[i]
		r := Ranked{Function: i}
		_, name := f.names()

		sum := 0.0
		if best > 0 {
			sum = min(texts[i].score/best, 1)
			if sum > 0 {
				r.because(Words, sum, texts[i].words)
			}
		}
		if a.mentions[name] && len(name) > 1 {
			sum += w.Said
			r.because(Named, w.Said, name)
		}
		if texts[i].quoted != "" {
			sum += w.Said
			r.because(Quoted, w.Said, texts[i].quoted)
		}
		if d := near[i]; d >= 0 {
			x := w.Near / float64(1+d)
			sum += x
			if d > 0 && texts[i].score == 0 {
				r.because(Near, x, "")
			}
		}

		factor := 0.0
		apply := func(is bool, k Kind, x float64, what string) {
			if is && x != 0 {
				factor += x
				r.because(k, x, what)
			}
		}
		last := symbol.Base(f.Package)
		apply(q.Package != "" && f.Package == q.Package, SamePackage, w.SamePackage, last)
		apply(a.titled[strings.ToLower(last)], Titled, w.Titled, last)
		apply(isConstructor(f.Name), Constructor, w.Constructor, "")
		apply(f.Startup, Startup, w.Startup, "")
		apply(f.Reporting, Reporting, w.Reporting, "")
		apply(run.Passing > 0 && f.Passing == 0, Unshared, w.Unshared, "")
		r.Score = sum * math.Exp(factor)
		out[i] = r
	}
	slices.SortStableFunc(out, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// textScore is what the text of a function says.
type textScore struct {
	score  float64
	words  string // of the question, those that count most first
	quoted string // literal that the question quotes
}

// score reads all functions, on all processors.
func score(a *asked, run Corpus, w *Weights) []textScore {
	out := make([]textScore, len(run.Functions))
	windows := make([][]window, len(run.Functions))
	all := newRarity(a)
	inParallel(blocks(slices.Values(run.Functions)), func(jobs <-chan block) {
		r, seen := newReader(a, w), newRarity(a)
		for b := range jobs {
			for i := range b.functions {
				f := &b.functions[i]
				ws := r.windows(f)
				windows[b.from+i] = ws
				seen.count(ws)
				out[b.from+i].quoted = quoted(f.Text, a.text)
			}
		}
		all.merge(seen)
	})
	if run.Known != nil {
		all = run.Known.rarity(a)
	} else if run.modules != nil {
		background(a, run.modules, run.kept, w, all)
	} else if run.Background != nil {
		read(a, w, run.Background, all)
	}
	s := all.scorer(a, w)
	for i, ws := range windows {
		score, at := s.best(ws)
		out[i].score = score
		if score > 0 {
			out[i].words = s.words(a, &ws[at])
		}
	}
	return out
}

// block is a part of a list of functions.
type block struct {
	from      int
	functions []Function
}

// blocks cuts a list into parts that are worth handing to another processor.
func blocks(fs iter.Seq[Function]) iter.Seq[block] {
	const size = 64
	return func(yield func(block) bool) {
		b := block{}
		for f := range fs {
			b.functions = append(b.functions, f)
			if len(b.functions) == size {
				if !yield(b) {
					return
				}
				b = block{from: b.from + size}
			}
		}
		if len(b.functions) > 0 {
			yield(b)
		}
	}
}

// inParallel calls work on each processor, which take the blocks from a channel.
func inParallel(blocks iter.Seq[block], work func(<-chan block)) {
	jobs := make(chan block)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { work(jobs) })
	}
	for b := range blocks {
		jobs <- b
	}
	close(jobs)
	wg.Wait()
}

// distances returns how many calls, in either direction, lie between a function
// and the nearest of those whose text scores at least enough; -1 if none leads
// there.
func distances(fs []Function, texts []textScore, enough float64) []int {
	d := make([]int, len(fs))
	next := make([][]int, len(fs))
	var queue []int
	for i := range fs {
		d[i] = -1
		if enough > 0 && texts[i].score >= enough {
			d[i] = 0
			queue = append(queue, i)
		}
		for _, j := range fs[i].Callees {
			next[i] = append(next[i], j)
			next[j] = append(next[j], i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range next[i] {
			if d[j] < 0 {
				d[j] = d[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return d
}

// isConstructor reports whether a name is "New", "newT" or the like.
func isConstructor(name string) bool {
	rest, ok := strings.CutPrefix(name, "New")
	if !ok {
		rest, ok = strings.CutPrefix(name, "new")
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLower(first) && !strings.Contains(rest, ".")
}
