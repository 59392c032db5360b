// Package trial carries experiments out: it makes the prompts of every inquiry, asks
// models what has no answer yet, has answers graded, and writes down what came of it,
// so that a trial that was broken off goes on where it was.
//
// The order is that of the calls. [Program] builds what an experiment is about.
// [Trial.Add] makes an inquiry's prompts of what the recorded runs hold. An [Examiner]
// asks: [Examiner.Ask] sends questions and judgements under limits of rate and cost,
// and [Examiner.Report] gathers answers, marks and sizes for package eval/report.
//
// Nothing is printed here: notes and complaints go to functions of the caller, as errors
// whose types have what a way out may need.
package trial

import (
	"fmt"
	"strings"
	"sync"

	"tracerag/eval"
	"tracerag/phrase"
	"tracerag/prompt"
)

// Trial is an experiment that is carried out.
type Trial struct {
	*eval.Experiment
	// ModuleLines are the lines of all modules in the program; 0: unknown.
	ModuleLines int

	inquiries []*inquiry
}

// inquiry is an inquiry with the prompts for it.
type inquiry struct {
	*eval.Inquiry
	prompts   map[eval.Variant]*prompt.Prompt
	sizes     sizes
	functions []eval.Function

	// rounds starts a question that is asked in rounds; nil if no variant is. Prompts are
	// made by one goroutine at a time.
	rounds     func() (*prompt.Rounds, error)
	making     *sync.Mutex
	mostTokens int // of all rounds' prompts
}

// sent is all that was sent for an answer.
func (q *inquiry) sent(a *eval.Answer) string {
	if len(a.Rounds) > 0 {
		return strings.Join(a.Rounds, "\n")
	}
	return q.prompts[a.Variant].Text
}

// sizes are the figures of an inquiry in the paper's tables 8 and 9.
type sizes struct {
	tokens           map[eval.Variant]map[string]int // by tokenizer
	files, fileLines int
	fullLines        int
}

// Prompts returns how many prompts were made.
func (t *Trial) Prompts() int {
	n := 0
	for _, q := range t.inquiries {
		n += len(q.prompts)
	}
	return n
}

func (t *Trial) inquiry(id string) *inquiry {
	for _, q := range t.inquiries {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// NoModelError says that an experiment names no models, and no option does.
type NoModelError struct {
	Path string // of the experiment's file
}

func (e *NoModelError) Error() string { return fmt.Sprintf("%s names no models", e.Path) }

// TooLongError is about prompts that are not asked, since the model's context is too small.
type TooLongError struct {
	Model   string
	Context int      // tokens that the model takes
	Known   bool     // or else assumed
	Prompts []string // with their sizes
}

func (e *TooLongError) Error() string {
	const most = 6
	takes := fmt.Sprintf("%s takes %s tokens", e.Model, phrase.Number(e.Context))
	if !e.Known {
		takes = fmt.Sprintf("the context size of %s is unknown, %s tokens are assumed", e.Model, phrase.Number(e.Context))
	}
	names := e.Prompts
	if n := len(names) - most; n > 1 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("%s: %s too long for it and not asked\n%s", takes,
		phrase.Plural(len(e.Prompts), "prompt is", "prompts are"), strings.Join(names, "\n"))
}

// CutError is about an answer that ended at a limit of tokens.
type CutError struct {
	Cell eval.Cell
	File string // the answer's: without it the question is asked again
}

func (e *CutError) Error() string {
	return fmt.Sprintf("%s: the answer was cut at a limit of tokens", e.Cell)
}

// SheetError is about the file in which people grade.
type SheetError struct {
	Path string
	Err  error
}

func (e *SheetError) Error() string { return fmt.Sprintf("sheet %s: %v", e.Path, e.Err) }

// Unwrap returns the error of the file.
func (e *SheetError) Unwrap() error { return e.Err }
