package guided

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tracerag/llm/metered"
	"tracerag/locate/treesearch"
)

const askReward = `Each function below may be one that has to change so that what the report says is settled.
Give each a reward from 1 to 10: 1 has nothing to do with it, 4 is code near by, 6 has to be understood
for the change, 8 probably has to change, 10 surely has to. Judge by what the code does, step by step; words that
the report and a function share are not enough.
For a report "the last column is cut off" and three functions that read options, lay out columns and draw a
border, the answer may be:
[1] reads the options once, before any column is known => 1
[2] computes the width of each column, and rounds the last one down => 9
[3] draws what the layout gives it; shows where the column is cut => 5`

const rewardForm = `Answer with one line for each of the %d functions, and nothing else: its number in brackets, why in at most
20 words, then "=>" and its reward.`

// batch is how many functions one question has. docs/locating.md has why.
const batch = 4

// sourceTokens is how many tokens of a function's source a question about several has.
const sourceTokens = 700

// rewarder asks a model what functions are worth.
type rewarder struct {
	*reader

	mu     sync.Mutex
	why    map[treesearch.Node]string
	unread int   // functions without a reward
	wrong  error // of the first reply in no form
}

// card is a function in a question.
type card struct {
	node treesearch.Node
	unit string // what it is, and its source
}

// rewards implements [treesearch.Reward]: it asks several questions at once.
func (r *rewarder) rewards(ctx context.Context, leaves []treesearch.Node) ([]float64, error) {
	var cards []card
	tokens := r.share(batch)
	for _, n := range leaves {
		c, err := r.card(n, tokens)
		if err != nil {
			return nil, err
		}
		cards = append(cards, c)
	}
	type answer struct {
		worth []float64
		err   error
	}
	answers := make([]answer, (len(cards)+batch-1)/batch)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			worth, err := r.ask(ctx, cards[i*batch:min((i+1)*batch, len(cards))])
			answers[i] = answer{worth, err}
		})
	}
	wg.Wait()
	var out []float64
	for _, a := range answers {
		if a.err != nil {
			return out, a.err
		}
		out = append(out, a.worth...)
	}
	return out, nil
}

// share is how many tokens of source each of n functions may have in one question.
func (r *rewarder) share(n int) int {
	room := r.Model.Room(system, askReward, rewardForm, metered.Fenced(metered.Part{Name: "REPORT", Text: ""}, metered.Part{Name: "FUNCTIONS", Text: ""}))
	room -= r.Model.Count(r.report(room / 3))
	return max(min((room-room/10)/n-100, sourceTokens), 0) // 100 are for its name and what it does
}

func (r *rewarder) card(n treesearch.Node, tokens int) (card, error) {
	u, err := r.unit(r.tree.Decl(n))
	if err != nil {
		return card{}, err
	}
	c := card{node: n, unit: r.headline(u) + "\n"}
	if does := r.does(&u.Decl); does != "" && u.Doc == "" {
		c.unit += "does: " + does + "\n"
	}
	c.unit += r.source(u, tokens)
	return c, nil
}

// ask asks about some functions in one question. A function whose reward cannot be read is worth
// nothing; a note says how many there are.
func (r *rewarder) ask(ctx context.Context, cards []card) ([]float64, error) {
	var list strings.Builder
	for i, c := range cards {
		fmt.Fprintf(&list, "[%d] %s\n", i+1, c.unit)
	}
	form := fmt.Sprintf(rewardForm, len(cards))
	room := r.Model.Room(system, askReward, form, list.String(), metered.Fenced(metered.Part{Name: "REPORT", Text: ""}, metered.Part{Name: "FUNCTIONS", Text: ""}))
	user := askReward + "\n\n" + metered.Fenced(metered.Part{Name: "REPORT", Text: r.report(room)}, metered.Part{Name: "FUNCTIONS", Text: list.String()}) + form
	read := rewardReply{n: len(cards)}
	err := r.Model.AskInForm(ctx, metered.Question{Kind: "reward", System: system, User: user}, read.read)
	if tooLong := (*metered.TooLongError)(nil); errors.As(err, &tooLong) && len(cards) > 1 {
		first, err := r.ask(ctx, cards[:len(cards)/2])
		if err != nil {
			return first, err
		}
		second, err := r.ask(ctx, cards[len(cards)/2:])
		return append(first, second...), err
	}
	wrong := (*metered.FormError)(nil)
	if err != nil && !errors.As(err, &wrong) {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong == nil {
		r.wrong = err
	}
	out := make([]float64, len(cards))
	for i, c := range cards {
		worth := read.best[i]
		if worth.reward == 0 {
			r.unread++
			continue
		}
		out[i] = float64(worth.reward) / 10
		r.why[c.node] = worth.why
	}
	return out, nil
}

// rewarded is what a model said of a function.
type rewarded struct {
	reward int // 1 to 10; 0 nothing
	why    string
}

// rewardReply reads rewards.
type rewardReply struct {
	n    int
	best map[int]rewarded // of the reply that had most
}

var (
	rewardLine = regexp.MustCompile(`^[-*•\s]*[*` + "`" + `]*(?:\[(?:function )?#?(\d+)\]|#?(\d+)[.):])[*` + "`" + `]*\s*(.*)$`)
	rewardEnd  = regexp.MustCompile(`^(.*?)(?:(?:=+>|->|→|:|—|–)\s*)?\**(?:reward:?\s*)?\**(\d+)(?:\.0+)?(?:\s*(?:/|out of|of)\s*10)?[\s.*` + "`" + `)]*$`)
	rewardHead = regexp.MustCompile(`^\**(?:reward:?\s*)?(\d+)(?:\.0+)?(?:\s*/\s*10)?\**(?:[\s:,;(—–=>-]+(.*))?$`)
)

// read reads a reply: each function has to have a reward from 1 to 10.
func (r *rewardReply) read(text string) error {
	got := map[int]rewarded{}
	var wrong error
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := rewardLine.FindStringSubmatch(line)
		number, rest := 1, line
		if m != nil {
			number, _ = strconv.Atoi(m[1] + m[2])
			rest = m[3]
		} else if r.n > 1 {
			continue
		}
		if number < 1 || number > r.n {
			wrong = fmt.Errorf("[%d] is unknown: the functions have the numbers 1 to %d", number, r.n)
			continue
		}
		reward, why, ok := rewardOf(rest)
		if !ok {
			if m != nil {
				wrong = fmt.Errorf("the line of [%d] does not end in a reward from 1 to 10", number)
			}
			continue
		}
		if _, again := got[number-1]; !again {
			got[number-1] = rewarded{reward, why}
		}
	}
	if len(got) > len(r.best) || r.best == nil {
		r.best = got
	}
	for i := range r.n {
		if _, ok := got[i]; !ok {
			if wrong == nil {
				wrong = fmt.Errorf("[%d] has no reward", i+1)
			}
			return wrong
		}
	}
	return nil
}

// rewardOf reads "why => 7", "7/10: why" and "7".
func rewardOf(text string) (reward int, why string, ok bool) {
	for _, form := range []struct {
		is         *regexp.Regexp
		reward, as int
	}{{rewardEnd, 2, 1}, {rewardHead, 1, 2}} {
		m := form.is.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[form.reward])
		if err == nil && n >= 1 && n <= 10 {
			return n, said(strings.TrimRight(m[form.as], " -–—:|=>")), true
		}
	}
	return 0, "", false
}
