package prompt

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// TemplateHelp documents what a template is given.
const TemplateHelp = `A template is a Go text/template. It is given:

  .Instructions  the fixed text that opens the default prompt
  .Question      may be empty
  .Modules       short names of modules and what they stand for, a line each
  .Left          of how many functions the source is left out to fit a budget
  .Types         declarations that the functions name, of a prompt with types (a list like that of functions)
  .Both          of two runs, the functions that both call (a list of functions)
  .Runs          one run, or two, each with
    .Label       "A" or "B" of two runs, else empty
    .Title       the command line
    .Notes       what was not recorded (a list of lines)
    .Processes   programs that the run started, by their command lines (likewise)
    .Tree        the call tree, with positions
    .Functions   the called functions, each once, in the order of first calls
    .Sorted      the same, sorted by name
    .Every       the same, again wherever they stand in the call tree
    .Only        of two runs, those that the other does not call

A function has
    .Name        csvview.(*Table).Render
    .Position    internal/csvview/table.go:120-158, or empty
    .Note        why the source is missing, or may differ from what ran
    .Lang        go or asm
    .Source      doc comment and code, or empty
    .Block       heading and fenced source, as in the Markdown format

and "fence TEXT" gives a Markdown fence that TEXT does not contain. Example:

  {{.Question}}
  {{range .Runs}}{{.Title}}
  {{.Tree}}
  {{range .Functions}}{{.Block}}{{end}}{{end}}
`

// What a template may do at most. It can neither read nor write anything, but
// it can count to 2^63 or double a string until memory ends.
const (
	maxTemplateOutput = 16 << 20 // bytes; a million tokens are 4 MB
	maxTemplateSteps  = 1 << 18  // list items and templates entered
)

var (
	errTemplateOutput = fmt.Errorf("the output is longer than %d MB", maxTemplateOutput>>20)
	errTemplateSteps  = fmt.Errorf("more than %d steps", maxTemplateSteps)
)

type templateData struct {
	Instructions, Question, Modules string
	Both, Types                     []*templateFunction
	Left                            int
	Runs                            []templateRun
}

type templateRun struct {
	Label, Title             string
	Notes, Processes         []string
	Tree                     string
	Functions, Sorted, Every []*templateFunction
	Only                     []*templateFunction
}

// templateFunction counts how often its source is asked for.
type templateFunction struct {
	Name, Position, Note, Lang string

	item  *item
	times int
}

// Source is the function's text.
func (f *templateFunction) Source() string { f.times++; return f.item.text }

// Block is the function as the Markdown format shows it.
func (f *templateFunction) Block() string { f.times++; return markdownItem(f.item) }

// execute makes the prompt with a template. It is one section: where a
// template puts what is its own affair.
func (m *material) execute(text string) ([]segment, error) {
	x := &execution{}
	t, err := x.parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	data, functions := m.templateData()
	var out limitedBuilder
	if err := t.Execute(&out, data); err != nil {
		return nil, templateError(err)
	}
	s := segment{section: "template", text: out.String()}
	for _, f := range functions {
		u := use{f.item, markdownItem(f.item)}
		for range f.times {
			s.uses = append(s.uses, u)
		}
	}
	return []segment{s}, nil
}

func (m *material) templateData() (templateData, []*templateFunction) {
	d := templateData{Instructions: m.instructions(), Question: m.question, Modules: m.modules.legend(nil)}
	of := map[*item]*templateFunction{}
	var all []*templateFunction
	wrap := func(items []*item) []*templateFunction {
		items, _ = m.cut.apply(items)
		fs := make([]*templateFunction, len(items))
		for i, it := range items {
			if of[it] == nil {
				of[it] = &templateFunction{Name: it.name, Position: it.position, Note: it.note, Lang: it.lang, item: it}
				all = append(all, of[it])
			}
			fs[i] = of[it]
		}
		return fs
	}
	for i := range m.runs {
		r := &m.runs[i]
		d.Runs = append(d.Runs, templateRun{
			Label: r.label, Title: r.title, Notes: r.notes, Processes: r.processes, Tree: m.treeText(r, TreeOnly),
			Functions: wrap(r.once), Sorted: wrap(sorted(r.once)), Every: wrap(r.every),
		})
	}
	_, d.Left = m.cut.apply(m.union())
	d.Types = wrap(m.types([]part{{items: m.union()}}).items)
	if len(m.runs) == 2 {
		both, a, b := split(m.runs[0].once, m.runs[1].once)
		d.Both, d.Runs[0].Only, d.Runs[1].Only = wrap(both), wrap(a), wrap(b)
	}
	return d, all
}

// execution is one run of a template within its limits.
type execution struct{ steps int }

func (x *execution) parse(text string) (*template.Template, error) {
	t := template.New("prompt").Funcs(template.FuncMap{
		"fence": func(s string) string { return strings.Repeat("`", max(3, longestRun(s, '`')+1)) },
		step:    x.step,
		// The predeclared ones, with a limit.
		"print":    limited(fmt.Sprint),
		"println":  limited(fmt.Sprintln),
		"printf":   func(format string, args ...any) (string, error) { return limit(fmt.Sprintf(format, args...)) },
		"html":     limited(template.HTMLEscaper),
		"js":       limited(template.JSEscaper),
		"urlquery": limited(template.URLQueryEscaper),
	})
	t, err := t.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, each := range t.Templates() {
		if each.Tree != nil {
			countSteps(each.Tree.Root)
			prependStep(each.Tree.Root)
		}
	}
	return t, nil
}

// step names the function that countSteps puts into a template. One that calls
// it itself only shortens its own allowance.
const step = "_step"

func (x *execution) step() (string, error) {
	if x.steps++; x.steps > maxTemplateSteps {
		return "", errTemplateSteps
	}
	return "", nil
}

// countSteps makes each round of each loop below a node a step.
func countSteps(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, c := range n.Nodes {
			countSteps(c)
		}
	case *parse.IfNode:
		countSteps(n.List)
		countSteps(n.ElseList)
	case *parse.WithNode:
		countSteps(n.List)
		countSteps(n.ElseList)
	case *parse.RangeNode:
		countSteps(n.List)
		countSteps(n.ElseList)
		prependStep(n.List)
	}
}

func prependStep(list *parse.ListNode) {
	if list == nil {
		return
	}
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: list.Pos, Args: []parse.Node{parse.NewIdentifier(step).SetPos(list.Pos)}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: list.Pos, Cmds: []*parse.CommandNode{call}}
	list.Nodes = append([]parse.Node{&parse.ActionNode{NodeType: parse.NodeAction, Pos: list.Pos, Pipe: pipe}}, list.Nodes...)
}

func limited(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) { return limit(f(args...)) }
}

func limit(s string) (string, error) {
	if len(s) > maxTemplateOutput {
		return "", errTemplateOutput
	}
	return s, nil
}

// limitedBuilder is a strings.Builder that fails at maxTemplateOutput.
type limitedBuilder struct{ strings.Builder }

func (b *limitedBuilder) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxTemplateOutput {
		return 0, errTemplateOutput
	}
	return b.Builder.Write(p)
}

// templateError says which line of the template is wrong: text/template's
// errors name it as "template: prompt:3:5: ...".
func templateError(err error) error {
	for _, limit := range []error{errTemplateOutput, errTemplateSteps} {
		if errors.Is(err, limit) {
			return fmt.Errorf("prompt template: %w", limit)
		}
	}
	msg := strings.TrimPrefix(err.Error(), "template: ")
	if line, ok := strings.CutPrefix(msg, "prompt:"); ok {
		return fmt.Errorf("prompt template, line %s", line)
	}
	return fmt.Errorf("prompt template: %s", msg)
}
