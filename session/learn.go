package session

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/phrase"
	"tracerag/redact"
	"tracerag/source"
	"tracerag/trace"
)

// Learn shows the masker what a trace holds, and the files that its functions are in,
// before any of it is masked. A literal may be known as a password by its name in a
// source, and be a mere argument in the command line or among the values, or the other
// way round.
//
// Rules take a second for 12 MB of sources. Where neither sources nor values are shown,
// a file matters only if it has eight bytes in common with the little that is: of
// the 63 files of a run of esbuild (2.6 MB) three have.
func (m *Masker) Learn(tr *trace.Trace, sources *source.Resolver, shown Shows) {
	if m == nil {
		return
	}
	l := m.Redactor().Learner()
	tr.Masked(l)
	paths := map[string]bool{}
	files := []string{tr.Dir, tr.Program.Path}
	for i := range tr.Processes {
		files = append(files, tr.Processes[i].Program)
	}
	for _, path := range files {
		if !paths[path] {
			paths[path] = true
			m.learnText(l, path)
		}
	}
	for _, f := range tr.Functions {
		if dir := filepath.Dir(f.File); !paths[dir] {
			paths[dir] = true
			m.learnText(l, dir)
		}
	}
	var matters *byteRuns
	if shown == HeadAlone || shown == WithoutSources && len(tr.Activations) == 0 {
		matters = runsOf(tr)
	}
	for _, text := range sources.Files(functionsOf(tr)) {
		if matters == nil || matters.in(text) {
			m.learnText(l, text)
		}
	}
	m.harmless.save()
}

// Shows says what of a trace is shown, so that the masker need not learn from more.
type Shows int

// What may be shown.
const (
	WithSources    Shows = iota
	WithoutSources       // the tree, and values if it has any
	HeadAlone
)

// learnHead is Learn for what is shown without its tree. Values may tell that an
// argument is a password; those that have nothing in common with the rest do not matter.
func (m *Masker) learnHead(h *trace.Head) {
	if m == nil {
		return
	}
	tr := *h.Trace
	matters := runsOf(&tr)
	for _, seen := range h.Seen {
		for _, v := range slices.Concat(seen.Args, seen.Results) {
			if matters.in(v.Text) {
				tr.Activations = append(tr.Activations, seen)
				break
			}
		}
	}
	m.Learn(&tr, Sources(&tr, nil), HeadAlone)
}

// learnText shows the masker a text, unless it has seen it: runs that are compared are
// of one program.
func (m *Masker) learnText(l redact.Learner, text string) {
	h := maphash.String(learnSeed, text)
	m.mu.Lock()
	old := m.learned[h]
	m.learned[h] = true
	m.mu.Unlock()
	if old || m.harmless.has(text) {
		return
	}
	if !l.Finds(text) {
		m.harmless.add(text)
	}
}

var learnSeed = maphash.MakeSeed()

// LearnText shows the masker a text that is beside a trace, such as a question.
func (m *Masker) LearnText(text string) { m.LearnTexts([]string{text}) }

// LearnTexts is LearnText for several, on all processors. Texts that were learned, or are known to
// have nothing to learn, are passed by.
func (m *Masker) LearnTexts(texts []string) {
	if m == nil {
		return
	}
	var fresh []string
	for _, text := range texts {
		m.mu.Lock()
		old := m.learned[maphash.String(learnSeed, text)]
		m.mu.Unlock()
		if !old && !m.harmless.has(text) {
			fresh = append(fresh, text)
		}
	}
	for i, found := range m.Redactor().LearnAll(fresh) {
		if !found {
			m.harmless.add(fresh[i])
		}
		m.mu.Lock()
		m.learned[maphash.String(learnSeed, fresh[i])] = true // not before: somebody else may wait for it
		m.mu.Unlock()
	}
	if len(fresh) > 1 { // a file of all of them is written
		m.harmless.save()
	}
}

// LearnArgs shows the masker a command line that messages may quote.
func (m *Masker) LearnArgs(args []string) {
	if m != nil {
		m.Redactor().Learner().Args(args)
	}
}

// LearnCommand is LearnArgs for a command line as people write it: of an argument the flag in front tells more than its form does.
func (m *Masker) LearnCommand(line string) {
	words, err := phrase.Split(line)
	if err != nil {
		words = strings.Fields(line)
	}
	m.LearnArgs(words)
}

// LearnPassword shows the masker a password.
func (m *Masker) LearnPassword(password string) {
	if m != nil && password != "" {
		m.Redactor().Learner().Value("password", password)
	}
}

func functionsOf(tr *trace.Trace) iter.Seq[source.Func] {
	return func(yield func(source.Func) bool) {
		for i := range tr.Functions {
			if !yield(sourceFunc(&tr.Functions[i])) {
				return
			}
		}
	}
}

// byteRuns are all strings of redact.MinKnown bytes in some texts: a secret that is masked
// in other places than its own is no shorter.
type byteRuns struct {
	all  map[uint64]bool
	ends [1 << 16]bool // what they end in: most places are passed by with a look at it
}

// runsOf has those of a trace without values that others have put there. Import paths
// are in many sources, and no secrets.
func runsOf(tr *trace.Trace) *byteRuns {
	w := &byteRuns{all: map[uint64]bool{}}
	texts := append([]string{tr.Name, tr.Dir, tr.Program.Path}, tr.Command...)
	for _, s := range tr.Program.Settings {
		texts = append(texts, s.Value)
	}
	for i := range tr.Processes {
		texts = append(append(texts, tr.Processes[i].Program, tr.Processes[i].Why), tr.Processes[i].Command...)
	}
	for _, text := range texts {
		for x := range eightBytes(text) {
			w.all[x] = true
		}
	}
	for _, path := range []string{tr.Program.Main.Path, tr.Program.MainPath} {
		for x := range eightBytes(path) {
			delete(w.all, x)
		}
	}
	for x := range w.all {
		w.ends[x>>48] = true
	}
	return w
}

func eightBytes(text string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := redact.MinKnown; i <= len(text); i++ {
			if !yield(binary.LittleEndian.Uint64([]byte(text[i-redact.MinKnown : i]))) {
				return
			}
		}
	}
}

// in reports whether a text has one of them.
func (w *byteRuns) in(text string) bool {
	for i := redact.MinKnown; i <= len(text); i++ {
		if w.ends[uint16(text[i-2])|uint16(text[i-1])<<8] && w.all[binary.LittleEndian.Uint64([]byte(text[i-redact.MinKnown:i]))] {
			return true
		}
	}
	return false
}
