package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"

	"tracerag/llm"
)

// oracle is a scripted model: it answers rightly if the right thing was shown to it, and else
// in form, but wrongly. It knows what the fix changed, and reads nothing but the prompt.
type oracle struct {
	functions map[found]bool
	names     map[string]bool // of files, packages and the repository
	wrong     float64         // how likely it answers wrongly nevertheless
	seed      uint64
}

func newOracle(c *loaded, wrong float64) *oracle {
	o := &oracle{functions: map[found]bool{}, names: map[string]bool{c.Repo: true}, wrong: wrong}
	for _, g := range c.Gold {
		o.functions[found{g.File, g.Function}] = true
		o.functions[found{c.Repo + ":" + g.File, g.Function}] = true // where there are several
	}
	for _, file := range c.GoldFiles {
		o.names[file], o.names[c.Repo+":"+file] = true, true
		o.names[c.repo.ImportPath(path.Dir(file))] = true
	}
	h := fnv.New64a()
	h.Write([]byte(c.ID))
	o.seed = h.Sum64()
	return o
}

// shown is a line of a list in a prompt.
type shown struct{ number, name, place string }

var (
	entry    = regexp.MustCompile(`^ *\[(\d+)\] (.*)$`)
	position = regexp.MustCompile(`^(\S+\.go):\d+`)
)

// listed reads a list as a model does: what is below a line without a number belongs to it, and
// so does what is indented below a file.
func listed(prompt string) (items []shown) {
	_, list, _ := strings.Cut(prompt, "<<<LIST ")
	under := ""
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		m := entry.FindStringSubmatch(line)
		switch {
		case strings.HasSuffix(line, ">>>"):
			return items
		case m == nil && !strings.HasPrefix(line, " "):
			under = line
		case m != nil:
			name, rest, _ := strings.Cut(m[2], "  ")
			place := under
			if p := position.FindStringSubmatch(rest); p != nil {
				place = p[1]
			}
			if strings.HasSuffix(name, ".go") && !strings.HasPrefix(line, " ") {
				under = name
			}
			items = append(items, shown{m[1], name, place})
		}
	}
	return items
}

func (o *oracle) right(s *shown) bool { return o.names[s.name] || o.functions[found{s.place, s.name}] }

// ask is of [metered.Options].
func (o *oracle) ask(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	prompt := r.Messages[len(r.Messages)-1].Content
	var right, others []shown
	for _, s := range listed(prompt) {
		if o.right(&s) {
			right = append(right, s)
		} else {
			others = append(others, s)
		}
	}
	h := fnv.New64a()
	h.Write([]byte(prompt))
	random := rand.New(rand.NewPCG(o.seed, h.Sum64()))
	if len(right) == 0 || random.Float64() < o.wrong {
		right = nil
		for range min(3, len(others)) {
			right = append(right, others[random.IntN(len(others))])
		}
	}
	var b strings.Builder
	if strings.Contains(prompt, "\nWRITE:") {
		b.WriteString("WRITE:\n")
	}
	for i := range right[:min(len(right), 10)] {
		n, _ := strconv.Atoi(right[i].number)
		fmt.Fprintf(&b, "[%d] it seems so\n", n)
	}
	if len(right) == 0 {
		b.WriteString("NONE\n")
	}
	return llm.Answer{Text: b.String(), FinishReason: "stop"}, nil
}
