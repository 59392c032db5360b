package locating

import (
	"strings"

	"tracerag/eval/retrieval"
	"tracerag/locate/guided"
)

// Outcome is what one strategy found for one case.
type Outcome struct {
	Case  string     `json:"case"`
	How   guided.How `json:"how"`
	Model string     `json:"model,omitempty"`

	Functions    retrieval.Ranks  `json:"functions"`
	Files        retrieval.Ranks  `json:"files"`
	Repositories *retrieval.Ranks `json:"repositories,omitempty"` // nil: the strategy chose between none

	// As Meta-RAG counts: does what the strategy says that has to be changed equal what had to be?
	// Is all of that in it?
	FunctionsEqual bool `json:"functions_equal"`
	FunctionsIn    bool `json:"functions_in"`
	FilesEqual     bool `json:"files_equal"`
	FilesIn        bool `json:"files_in"`

	Questions int     `json:"questions"`
	Prompt    int     `json:"prompt_tokens"`
	Answered  int     `json:"answer_tokens"`
	Cost      float64 `json:"cost_usd"` // 0 where no price is known
	Seconds   float64 `json:"seconds"`
	// Missing is what the case wants and its repository does not have.
	Missing []string `json:"missing,omitempty"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// judge says where what a case wants is in an order. Of a function that is declared once for each
// platform the first counts.
func judge(c *Case, o *order) Outcome {
	out := Outcome{Case: c.ID}
	out.Functions = ranks(len(c.Functions), o.functions, func(p place) int {
		if !c.in(p.repository) {
			return -1
		}
		return c.wants(p.file, p.name)
	})
	out.Files = ranks(len(c.Files), o.files, c.wantsFile)
	if len(o.repositories) > 1 && c.Repo != "" {
		r := ranks(1, o.repositories, func(p place) int {
			if c.in(p.repository) {
				return 0
			}
			return -1
		})
		out.Repositories = &r
	}
	functions, files := o.named, filesOf(o.named)
	if o.named == nil { // the best is what it would say
		functions, files = o.functions[:min(len(o.functions), 1)], o.files[:min(len(o.files), 1)]
	}
	out.FunctionsEqual, out.FunctionsIn = compare(len(c.Functions), functions, func(p place) int {
		if p.name == "" || !c.in(p.repository) {
			return -1
		}
		return c.wants(p.file, p.name)
	}, func(p place) bool { return p.name != "" })
	out.FilesEqual, out.FilesIn = compare(len(c.Files), files, c.wantsFile, func(place) bool { return true })
	return out
}

// ranks returns the places of the wanted, each once.
func ranks(wanted int, all []place, which func(place) int) retrieval.Ranks {
	r := retrieval.Ranks{Wanted: wanted}
	seen := map[int]bool{}
	for i, p := range all {
		if w := which(p); w >= 0 && !seen[w] {
			seen[w] = true
			r.At = append(r.At, i+1)
		}
	}
	return r
}

// compare holds a set of places against the wanted ones.
func compare(wanted int, all []place, which func(place) int, counts func(place) bool) (equal, in bool) {
	seen := map[int]bool{}
	other := false
	for _, p := range all {
		if w := which(p); w >= 0 {
			seen[w] = true
		} else if counts(p) {
			other = true
		}
	}
	in = wanted > 0 && len(seen) == wanted
	return in && !other, in
}

// in reports whether a repository, by its name in a store, may be the case's.
func (c *Case) in(repository string) bool {
	return c.Repo == "" || repository == "" || repository == c.Repo || repository == c.Repo[strings.LastIndexByte(c.Repo, '/')+1:]
}

func (c *Case) wantsFile(p place) int {
	if !c.in(p.repository) {
		return -1
	}
	for i, f := range c.Files {
		if f == p.file {
			return i
		}
	}
	return -1
}

// missing names what a case wants that is in no file of the program: it was misspelled, or a
// fix adds it.
func (t *texts) missing(c *Case) (names []string) {
	has := func(all []place, which func(place) int) map[int]bool {
		seen := map[int]bool{}
		for _, p := range all {
			seen[which(p)] = true
		}
		return seen
	}
	files := has(t.files, c.wantsFile)
	for i, f := range c.Files {
		if !files[i] {
			names = append(names, f)
		}
	}
	functions := has(t.functions, func(p place) int {
		if !c.in(p.repository) {
			return -1
		}
		return c.wants(p.file, p.name)
	})
	for i, f := range c.Functions {
		if !functions[i] {
			names = append(names, f.Name)
		}
	}
	return names
}

// orderOf is what a strategy answered.
func orderOf(a *guided.Answer) *order {
	o := new(order)
	for _, f := range a.Functions {
		o.functions = append(o.functions, place{f.Repository, f.File, f.Name})
	}
	for _, f := range a.Files {
		o.files = append(o.files, place{f.Repository, f.File, ""})
	}
	for _, r := range a.Repositories {
		o.repositories = append(o.repositories, place{repository: r.Name})
	}
	for _, w := range a.Write {
		o.named = append(o.named, place{w.Repository, w.File, w.Name})
	}
	return o
}
