package prompt

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/prompt/tokens"
	"tracerag/source"
	"tracerag/trace"
)

// Run is one recorded run.
type Run struct {
	Label string // "A" or "B" of two runs, given when empty; not used for one
	// Title is the command line as it was typed. Nothing that changes from
	// run to run belongs here: prompt caches match equal beginnings.
	Title string
	Tree  *calltree.Tree
	Notes []string // what was not recorded: losses are part of the prompt
	// Processes are the command lines of the programs whose start the tree shows, each
	// behind the name that the tree has of it. May be empty.
	Processes []string
}

// Input is what a prompt is made of.
type Input struct {
	Question string // none is fine: the prompt then has none
	Runs     []Run  // one, or two to compare

	// Static says that nothing ran: the only run's tree has functions that were found in the
	// source below functions that call them, and its counts mean nothing.
	Static bool

	// Source returns the text of a function; nil leaves all sources missing.
	Source func(trace.Function) source.Text
	// Position returns a function's place for the tree, such as
	// "dir/file.go:12"; nil means as its source has it.
	Position func(*trace.Function) string
	// Lines says which lines of a function ran, for each run that called it; nil,
	// or an empty result, that this is unknown.
	Lines func(trace.Function) []trace.Lines
	// Named returns the declarations of types, constants and package variables that
	// a text names, that of a function or of what is around it. It is asked where
	// [Options.Types] says so, or a budget does, by several goroutines at once. Nil knows
	// none.
	Named func(trace.Function, source.Text) []source.Decl
	// Score says how relevant a function is to the question, the higher the more,
	// and why in some words. It decides what goes first where not all fits into
	// [Options.Budget]. Nil goes by place in the tree and number of calls.
	Score func(trace.Function) (score float64, why string)

	// Mask hides secrets in every text that comes from the program, the runs or
	// the user; nil leaves them. It is given all sources before it masks any.
	Mask Masker
}

// Masker hides secrets. Package redact has one, with two methods more that save time. By
// LearnAll(texts []string) []bool it learns from several texts, in their order, on all
// processors. Secrets() int says how many secrets it knows: as long as these are as many, equal
// texts are masked alike.
type Masker interface {
	Learn(text string)
	Text(text string) string
}

// Placement says where the question is.
type Placement string

// The placements. The default is the variant's own: first in the paper's, last
// in Ordered.
const (
	First Placement = "first"
	Last  Placement = "last"
	Both  Placement = "both"
)

// Format is the markup of a prompt.
type Format string

// The formats.
const (
	Markdown Format = "markdown"
	XML      Format = "xml"
	JSON     Format = "json"
)

// Options says how a prompt is made. The zero Options are the defaults.
type Options struct {
	Variant    Variant   // Ordered
	QuestionAt Placement // the variant's own
	Format     Format    // Markdown
	Template   string    // a template instead of a format: see [TemplateHelp]

	Model   string         // chooses counter and window where they are not given
	Counter tokens.Counter // that of Model
	Window  int            // tokens that Model takes; 0: from the table of models

	// Budget is how many tokens the prompt may have. What does not fit is left
	// out, the least relevant first, with a mark where it was; 0 leaves out
	// nothing.
	Budget int

	// Types adds a section with the declarations of the types, constants and package
	// variables that the sources name. Ordered has it with each budget.
	Types bool
}

// Section is a part of a prompt. The sections are the prompt, in its order.
type Section struct {
	Name   string `json:"name"` // "question", "call tree", "sources A"
	Tokens int    `json:"tokens"`
	Lines  int    `json:"lines"`
}

// FunctionTokens is what the source of one function costs.
type FunctionTokens struct {
	Name     string `json:"name"`
	Position string `json:"position,omitempty"`
	Tokens   int    `json:"tokens"` // each time
	Lines    int    `json:"lines"`  // each time
	Times    int    `json:"times"`  // how often it is in the prompt
	Tier     Tier   `json:"tier"`   // how much of it does

	// Holds are the functions of the call trees whose text it is: the one that
	// it is named after, closures within it, instances of a generic one.
	Holds []trace.Function `json:"-"`
}

// Prompt is a text for a model, and the account of its tokens.
type Prompt struct {
	Text      string           `json:"text"`
	Sections  []Section        `json:"sections"`
	Functions []FunctionTokens `json:"functions"`       // in order of first appearance
	Types     []FunctionTokens `json:"types,omitempty"` // declarations, likewise
	Total     int              `json:"total"`           // tokens of Text
	Window    int              `json:"window"`          // tokens that the model takes
	Left      int              `json:"left"`            // for the answer; negative: does not fit
	Model     string           `json:"model,omitempty"`
	Estimated bool             `json:"estimated"`        // the model's tokenizer is not public
	Encoding  string           `json:"encoding"`         // how tokens were counted
	Budget    int              `json:"budget,omitempty"` // that it was made to fit
	Shown     []Shown          `json:"fitted,omitempty"` // with a budget, the most relevant function first
	Warnings  []string         `json:"warnings,omitempty"`
}

// Build makes the prompt. A prompt that does not fit into the model's window
// is no error here, so that its account can be shown: see [Prompt.CheckWindow].
// One that does not fit into the budget is, an *OverBudgetError.
func Build(in Input, o Options) (*Prompt, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(in.Runs) < 1 || len(in.Runs) > 2 {
		return nil, fmt.Errorf("a prompt is about one run or two, not %d", len(in.Runs))
	}
	if err := in.checkStatic(&o); err != nil {
		return nil, err
	}
	if own := o.Variant == Ordered && o.Template == ""; !o.Types && !(own && o.Budget > 0) {
		in.Named = nil
	}
	m, err := collect(in)
	if err != nil {
		return nil, err
	}
	if o.Variant == Ordered && o.Template == "" {
		m.number()
	}
	var p *Prompt
	if o.Budget > 0 {
		p, err = m.fit(in, o)
	} else {
		var segments []segment
		if segments, err = m.render(o); err == nil {
			p = account(segments, o)
		}
	}
	if err != nil {
		return nil, err
	}
	p.Warnings = append(slices.Clone(m.warnings), p.Warnings...)
	return p, nil
}

// render writes the prompt, less what is cut.
func (m *material) render(o Options) ([]segment, error) {
	if o.Template != "" {
		return m.execute(o.Template)
	}
	parts := m.layout(o.Variant, o.QuestionAt)
	switch o.Format {
	case XML:
		return renderXML(parts), nil
	case JSON:
		return renderJSON(parts), nil
	}
	return renderMarkdown(parts), nil
}

// complete fills in defaults and refuses what it does not know.
func (o *Options) complete() error {
	if o.Variant == "" {
		o.Variant = Ordered
	}
	if o.Format == "" {
		o.Format = Markdown
	}
	if o.QuestionAt == "" {
		o.QuestionAt = First
		if o.Variant == Ordered {
			o.QuestionAt = Last
		}
	}
	if o.Counter == nil {
		o.Counter = tokens.For(o.Model)
	}
	if o.Budget < 0 {
		return fmt.Errorf("a budget of %d tokens", o.Budget)
	}
	if err := oneOf("variant", o.Variant, Variants...); err != nil {
		return err
	}
	if err := oneOf("format", o.Format, Markdown, XML, JSON); err != nil {
		return err
	}
	return oneOf("place of the question", o.QuestionAt, First, Last, Both)
}

func oneOf[T ~string](what string, got T, known ...T) error {
	if slices.Contains(known, got) {
		return nil
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return fmt.Errorf("unknown %s %q: want %s", what, string(got), strings.Join(names, ", "))
}
