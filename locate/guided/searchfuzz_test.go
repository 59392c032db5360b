package guided

import (
	"slices"
	"strings"
	"testing"
)

// FuzzSearchReplies: whatever a model answers, what is read of it is bounded, has no control character,
// and names actions and numbers that there are.
func FuzzSearchReplies(f *testing.F) {
	for _, s := range []string{"[1] a => 7\n[2] b => 2", "THINK: x\nACT: search_type (*T).M", "ACT: search_code(\"a b\")", "ANSWER:\n[2] x\nPLAN: y",
		"**PLAN:**\nx", "[99999999999999999999] => 99999999999999999999", "ACT: callers \x1b[2J", "act: executed_by ()", "ANSWER:\nACT: callers x"} {
		f.Add(s)
	}
	items := []item{{names: []string{"F"}}, {names: []string{"(*T).M", "T.M"}}}
	f.Fuzz(func(t *testing.T, text string) {
		rewards := rewardReply{n: 2}
		err := rewards.read(text)
		for i, r := range rewards.best {
			if i < 0 || i > 1 || r.reward < 1 || r.reward > 10 || len(r.why) > 300 || strings.ContainsAny(r.why, "\x1b\n") {
				t.Errorf("%d: %+v", i, r)
			}
		}
		if err == nil && len(rewards.best) != 2 {
			t.Errorf("%q has %d rewards", text, len(rewards.best))
		}
		for _, may := range []bool{false, true} {
			step := actReply{reply: reply{items: items, most: 1}, may: may}
			err := step.read(text)
			if step.action != "" && (err != nil || !may || !slices.Contains(actionNames(), step.action) || step.argument == "" || len(step.argument) > 4*longestLine) {
				t.Errorf("%+v %v", step, err)
			}
			if len(step.picks) > 1 || strings.ContainsAny(step.argument+step.thought+step.plan, "\x1b\x00") {
				t.Errorf("%+v", step)
			}
		}
		plan := summaryReply{reply: reply{items: items}}
		if err := plan.read(text); (err == nil) != (plan.plan != "") || len(plan.plan) > mostPlan+3 {
			t.Errorf("%q %v", plan.plan, err)
		}
	})
}
