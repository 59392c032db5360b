package guided

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/llm/metered"
	"tracerag/visible"
)

// agent thinks, acts and observes until it knows which functions have to change.
type agent struct {
	*reader
	shown []seen
	at    map[int64]int // of shown, by the declarations' numbers
	plan  string
	steps []turn
}

// seen is a function that the model was shown. Its number is its place, from 1.
type seen struct {
	item
	decl knowledge.Decl
	line string // what is said of it
	by   string // the action that found it; "" the rewards
}

// turn is an action of the model and what came of it.
type turn struct{ thought, action, observation string }

const askSummary = `The functions below were found for the report; the last figure of each is its reward, 10 the highest. Say what each of
them does as far as the report is concerned, and then how you would go about it: what has to
be looked at next, and what probably has to change. Write no code.`

const summaryForm = `Answer with one line for each function, its number in brackets and what it does, in at most 25 words. Then a line
"PLAN:", and behind it the plan in at most 120 words.`

const askAct = `Find the functions that have to change so that what the report says is settled. You have the functions that were
found until now, a plan, and what you did until now. Think, then do one thing.`

const actForm = `Answer in one of these two forms, and with nothing else. To look at more:
THINK: what you want to know, in at most 40 words
ACT: one of
  search_type NAME        the declaration of a type, and its methods
  search_function NAME    the source of a function or a method: F, T.M, (*T).M or pkg.F
  search_code TEXT        the functions with a line that has this text
  executed_by NAME        the saved runs that executed a function, and the tests that may
  callers NAME            what calls a function
To end, when you know enough:
THINK: why these
ANSWER:
[7] why it has to change, in at most 20 words, one line for each function, the likeliest first, at most %d
PLAN: what has to change, in at most 120 words`

const (
	stepsLeft = "You may look %d more times."
	lastStep  = "You may look at nothing more: answer in the second form."
)

// summarise has the model say what the best functions do, and plan.
func (a *agent) summarise(best []ranked) error {
	form := summaryForm
	room := a.Model.Room(system, askSummary, form, metered.Fenced(metered.Part{Name: "REPORT", Text: ""}, metered.Part{Name: "FUNCTIONS", Text: ""}))
	report := a.report(room / 3)
	room -= a.Model.Count(report)
	each := max(min((room-room/10)/max(len(best), 1)-100, 2*sourceTokens), 0)
	var list strings.Builder
	for _, b := range best {
		u, err := a.unit(b.decl)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "[%d] %s, reward %d\n%s\n", a.at[b.decl.ID]+1, a.headline(u), b.reward, a.source(u, each))
	}
	r := summaryReply{reply: reply{items: a.items()}}
	err := a.Model.AskInForm(a.ctx, metered.Question{Kind: "search summary", System: system,
		User: askSummary + "\n\n" + metered.Fenced(metered.Part{Name: "REPORT", Text: report}, metered.Part{Name: "FUNCTIONS", Text: list.String()}) + form}, r.read)
	if tooLong := (*metered.TooLongError)(nil); errors.As(err, &tooLong) && len(best) > 1 {
		return a.summarise(best[:len(best)/2])
	}
	if wrong := (*metered.FormError)(nil); errors.As(err, &wrong) {
		a.note("%v: the plan is missing", wrong)
		return nil
	}
	if err != nil {
		return err
	}
	a.plan = r.plan
	for _, p := range r.picks {
		if p.why != "" {
			a.shown[p.at].line = p.why
		}
	}
	return nil
}

// run lets the model look around for at most so many steps, and returns the functions
// that it answers with, the likeliest first; none if it answers in no form.
func (a *agent) run(steps int) ([]pick, error) {
	for left := steps; ; left-- {
		r := actReply{reply: reply{items: a.items(), most: chosenFunctions}, may: left > 0}
		err := a.Model.AskInForm(a.ctx, metered.Question{Kind: "search step", System: system, User: a.prompt(left)}, r.read)
		if wrong := (*metered.FormError)(nil); errors.As(err, &wrong) {
			a.note("%v: the rewards have the last word", wrong)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if r.action == "" {
			for _, name := range r.unknown {
				a.note("search: the model chose %q, which it was not shown", cut(visible.Line(name), 100))
			}
			if r.plan != "" {
				a.plan = r.plan
			}
			return r.picks, nil
		}
		t := turn{thought: r.thought, action: strings.TrimSpace(r.action + " " + r.argument)}
		if i := slices.IndexFunc(a.steps, func(x turn) bool { return x.action == t.action }); i >= 0 {
			t.observation = fmt.Sprintf("You did that already, in step %d.\n", i+1)
		} else if t.observation, err = a.act(r.action, r.argument); err != nil {
			return nil, err
		}
		a.steps = append(a.steps, t)
	}
}

// prompt is the question of a step: what was shown, and what was done. The observations that are
// the longest ago are left out first.
func (a *agent) prompt(left int) string {
	end := fmt.Sprintf(actForm, chosenFunctions) + "\n"
	if left > 0 {
		end += fmt.Sprintf(stepsLeft, left)
	} else {
		end += lastStep
	}
	parts := func(report, functions, plan, steps string) string {
		return metered.Fenced(metered.Part{Name: "REPORT", Text: report}, metered.Part{Name: "FUNCTIONS", Text: functions}, metered.Part{Name: "PLAN", Text: plan}, metered.Part{Name: "STEPS", Text: steps})
	}
	room := a.Model.Room(system, askAct, end, parts("", "", "", ""))
	room -= room / 20
	report := a.report(room / 4)
	plan := cut(a.plan, max(room, 0)) // a plan has at most as many tokens as bytes
	room -= a.Model.Count(report) + a.Model.Count(plan)
	var functions strings.Builder
	for i, s := range a.shown {
		line := fmt.Sprintf("[%d] %s", i+1, s.names[0]+s.rest)
		if s.line != "" {
			line += ": " + s.line
		}
		line = cut(visible.Line(line), longestLine) + "\n"
		n := a.Model.Count(line)
		if n > room/2 {
			break
		}
		room -= n
		functions.WriteString(line)
	}
	var steps []string
	for i := len(a.steps) - 1; i >= 0; i-- {
		s := a.steps[i]
		text := fmt.Sprintf("%d. THINK: %s\nACT: %s\n", i+1, s.thought, s.action)
		whole := text + s.observation
		if n := a.Model.Count(whole); n <= room {
			room -= n
			steps = append(steps, whole)
		} else if n := a.Model.Count(text); n <= room {
			room -= n
			steps = append(steps, text+"[what it showed is left out]\n")
		}
	}
	slices.Reverse(steps)
	return askAct + "\n\n" + parts(report, functions.String(), plan, strings.Join(steps, "\n")) + end
}

// show gives a function a number, and returns it.
func (a *agent) show(d *knowledge.Decl, by string) int {
	if i, ok := a.at[d.ID]; ok {
		return i + 1
	}
	place := fmt.Sprintf("%s:%d", a.place(d.Repository, d.Path), d.Line)
	a.at[d.ID] = len(a.shown)
	a.shown = append(a.shown, seen{item: item{names: names(d), rest: " in " + place}, decl: *d, by: by})
	return len(a.shown)
}

func (a *agent) items() []item {
	out := make([]item, len(a.shown))
	for i := range a.shown {
		out[i] = a.shown[i].item
	}
	return out
}

// names are what a model may call a declaration.
func names(d *knowledge.Decl) []string {
	pkg := d.Package[strings.LastIndexByte(d.Package, '/')+1:]
	plain := strings.NewReplacer("(*", "", ")", "").Replace(d.Name)
	return []string{d.Name, plain, pkg + "." + d.Name, pkg + "." + plain, d.Path + ":" + d.Name}
}

// summaryReply reads what functions do, and a plan.
type summaryReply struct {
	reply
	plan string
}

func (r *summaryReply) read(text string) error {
	lines, plan := planned(text)
	if plan == "" {
		return errors.New(`the line "PLAN:" is missing, or nothing is behind it`)
	}
	r.plan = plan
	_ = r.reply.read(lines) // what is not said of a function is not needed
	return nil
}

var planLine = regexp.MustCompile(`(?im)^[\s*#]*plan[\s*]*:[\s*]*`)

// mostPlan is how many bytes a plan may have.
const mostPlan = 2000

// planned cuts a reply at its plan.
func planned(text string) (before, plan string) {
	at := planLine.FindStringIndex(text)
	if at == nil {
		return text, ""
	}
	return text[:at[0]], cut(strings.TrimSpace(visible.Text(text[at[1]:])), mostPlan)
}

// actReply reads one step of a model.
type actReply struct {
	reply
	may bool // look at more

	thought, action, argument, plan string
}

var (
	thinkLine  = regexp.MustCompile(`(?im)^[\s*]*(?:think|thought)[ \t*]*:[ \t*]*(.*)$`)
	actLine    = regexp.MustCompile(`(?im)^[\s*]*(?:act|action)[\s*]*:[\s*` + "`" + `]*([a-z_]+)(.*)$`)
	answerLine = regexp.MustCompile(`(?im)^[\s*#]*answer[\s*]*:[\s*]*`)
)

func (r *actReply) read(text string) error {
	r.thought, r.action, r.argument, r.plan = "", "", "", ""
	if m := thinkLine.FindStringSubmatch(text); m != nil {
		r.thought = cut(strings.TrimSpace(visible.Line(m[1])), longestLine)
	}
	if at := answerLine.FindStringIndex(text); at != nil {
		if act := actLine.FindStringIndex(text); act == nil || at[0] < act[0] || !r.may {
			var lines string
			lines, r.plan = planned(text[at[1]:])
			return r.reply.read(lines)
		}
	}
	m := actLine.FindStringSubmatch(text)
	switch {
	case m == nil:
		return errors.New(`a line that begins with "ACT:" or "ANSWER:" is missing`)
	case !r.may:
		return errors.New(`nothing more can be looked at: the line "ANSWER:" and the functions are missing`)
	}
	name := strings.ToLower(m[1])
	argument := unwrapped(m[2])
	if name != "search_code" {
		argument, _, _ = strings.Cut(argument, " ")
	}
	if !slices.ContainsFunc(actions, func(a action) bool { return a.name == name }) {
		return fmt.Errorf("%q is no action: the actions are %s", cut(visible.Line(m[1]), 40), strings.Join(actionNames(), ", "))
	}
	if argument == "" {
		return fmt.Errorf("%s needs a name, or a text", name)
	}
	r.action, r.argument = name, cut(visible.Line(argument), longestLine)
	return nil
}

// unwrapped is the argument of an action without the quotes and parentheses that models put around it.
// Those of "(*T).M" stay.
func unwrapped(s string) string {
	const around = " \t:`\"',;<>[]"
	s = strings.Trim(s, around)
	for strings.HasPrefix(s, "(") && !strings.HasPrefix(s, "(*") {
		s = strings.Trim(strings.TrimSuffix(s[1:], ")"), around)
	}
	if strings.Count(s, ")") > strings.Count(s, "(") {
		s = strings.Trim(strings.TrimSuffix(s, ")"), around)
	}
	return s
}
