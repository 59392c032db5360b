package locating

import (
	"tracerag/eval/retrieval"
	"tracerag/locate/guided"
)

// Report is what was measured.
type Report struct {
	Schema   string    `json:"schema"`
	Model    string    `json:"model,omitempty"`
	Cases    int       `json:"cases"`
	K        []int     `json:"k"`
	Rows     []Row     `json:"strategies"`
	Papers   []Paper   `json:"papers"`
	Outcomes []Outcome `json:"outcomes"`
	Open     []Open    `json:"open"`
}

// Row is how good a strategy is.
type Row struct {
	How          guided.How `json:"how"`
	Functions    *Measures  `json:"functions,omitempty"`
	Files        *Measures  `json:"files,omitempty"`
	Repositories *Measures  `json:"repositories,omitempty"`
	// The localisation rate of Meta-RAG in two readings: what the strategy says equals the fix, as the
	// paper's equation has it; and all of the fix is in what it says, as its text may be read.
	Rate  Rate  `json:"localisation_rate"`
	Takes Takes `json:"takes"`
}

// Measures are those of an order, over the cases that want something of its kind.
type Measures struct {
	Cases  int       `json:"cases"`
	Any    []float64 `json:"any"` // Pass@k, by K
	Recall []float64 `json:"recall"`
	All    []float64 `json:"all"`
	MRR    float64   `json:"mrr"`
	// Difference is the MRR less that of BM25, of the cases that both have. Of BM25 itself it is nil.
	Difference *Difference `json:"mrr_less_bm25,omitempty"`
}

// Difference is a mean with its 95 % interval, by a bootstrap over the pairs.
type Difference struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Rate are shares of the cases.
type Rate struct {
	FilesEqual     float64 `json:"files_equal"`
	FilesIn        float64 `json:"files_in"`
	FunctionsEqual float64 `json:"functions_equal"`
	FunctionsIn    float64 `json:"functions_in"`
}

// Takes are means over the cases.
type Takes struct {
	Questions float64 `json:"questions"`
	Tokens    float64 `json:"tokens"`
	Cost      float64 `json:"cost_usd"`
	Seconds   float64 `json:"seconds"`
}

// Count computes the rows, for the places k.
func (r *Report) Count(k []int) {
	r.K, r.Rows, r.Papers = k, []Row{}, papers
	by := map[guided.How][]Outcome{}
	var all []guided.How
	for _, o := range r.Outcomes {
		if by[o.How] == nil {
			all = append(all, o.How)
		}
		by[o.How] = append(by[o.How], o)
	}
	functions := func(o *Outcome) *retrieval.Ranks { return &o.Functions }
	files := func(o *Outcome) *retrieval.Ranks { return &o.Files }
	for _, how := range all {
		os := by[how]
		row := Row{How: how, Files: r.measures(os, files), Repositories: r.measures(os, func(o *Outcome) *retrieval.Ranks { return o.Repositories })}
		onlyFiles := how == BM25Files || how == BM25PlusFiles
		if !onlyFiles {
			row.Functions = r.measures(os, functions)
		}
		if how != BM25 {
			row.Functions.against(os, by[BM25], functions)
			row.Files.against(os, by[BM25], files)
		}
		row.count(os)
		r.Rows = append(r.Rows, row)
	}
}

// wants are the outcomes of cases that want something of a kind.
func wants(os []Outcome, of func(*Outcome) *retrieval.Ranks) (with []retrieval.Ranks) {
	for i := range os {
		if ranks := of(&os[i]); ranks != nil && ranks.Wanted > 0 {
			with = append(with, *ranks)
		}
	}
	return with
}

// measures are nil if no case wants something of the kind.
func (r *Report) measures(os []Outcome, of func(*Outcome) *retrieval.Ranks) *Measures {
	with := wants(os, of)
	if len(with) == 0 {
		return nil
	}
	m := &Measures{Cases: len(with)}
	for _, k := range r.K {
		m.Any = append(m.Any, retrieval.Share(with, func(x retrieval.Ranks) bool { return x.Any(k) }))
		m.All = append(m.All, retrieval.Share(with, func(x retrieval.Ranks) bool { return x.All(k) }))
		var recall []float64
		for _, x := range with {
			recall = append(recall, x.Recall(k))
		}
		m.Recall = append(m.Recall, retrieval.Mean(recall))
	}
	var reciprocal []float64
	for _, x := range with {
		reciprocal = append(reciprocal, x.Reciprocal())
	}
	m.MRR = retrieval.Mean(reciprocal)
	return m
}

func (m *Measures) against(os, base []Outcome, of func(*Outcome) *retrieval.Ranks) {
	if m == nil {
		return
	}
	other := map[string]*Outcome{}
	for i := range base {
		other[base[i].Case] = &base[i]
	}
	var a, b []float64
	for i := range os {
		if x, y := of(&os[i]), other[os[i].Case]; y != nil && x.Wanted > 0 {
			a, b = append(a, x.Reciprocal()), append(b, of(y).Reciprocal())
		}
	}
	if len(a) > 0 {
		m.Difference = new(Difference)
		m.Difference.Mean, m.Difference.Low, m.Difference.High = retrieval.Interval(a, b)
	}
}

func (r *Row) count(os []Outcome) {
	share := func(kind func(*Outcome) bool, is func(*Outcome) bool) float64 {
		var of []Outcome
		for _, o := range os {
			if kind(&o) {
				of = append(of, o)
			}
		}
		return retrieval.Share(of, func(o Outcome) bool { return is(&o) })
	}
	functions := func(o *Outcome) bool { return o.Functions.Wanted > 0 }
	files := func(o *Outcome) bool { return o.Files.Wanted > 0 }
	r.Rate = Rate{
		FilesEqual: share(files, func(o *Outcome) bool { return o.FilesEqual }), FilesIn: share(files, func(o *Outcome) bool { return o.FilesIn }),
		FunctionsEqual: share(functions, func(o *Outcome) bool { return o.FunctionsEqual }), FunctionsIn: share(functions, func(o *Outcome) bool { return o.FunctionsIn }),
	}
	n := float64(len(os))
	for _, o := range os {
		r.Takes.Questions += float64(o.Questions) / n
		r.Takes.Tokens += float64(o.Prompt+o.Answered) / n
		r.Takes.Cost += o.Cost / n
		r.Takes.Seconds += o.Seconds / n
	}
}
