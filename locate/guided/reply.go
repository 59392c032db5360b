package guided

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tracerag/visible"
)

// reply reads what a model answers about a list. It is lenient in form: "[7] why", "7. why",
// "- `name`: why" and "7, 3, 12" are choices; other lines are talk.
type reply struct {
	items []item
	most  int // 0 is any

	byName  map[string]int // of items; -1 is several
	times   int            // that a reply was read
	picks   []pick
	unknown []string // names and numbers that are in no list
}

// errNothing is what is wrong with a reply without a choice.
var errNothing = errors.New("no line begins with a number in brackets, and it is not NONE")

// read reads a reply. Choices that are not in the list are refused the first time.
func (r *reply) read(text string) error {
	r.times++
	r.picks, r.unknown = nil, nil
	seen := map[int]bool{}
	none := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if isNone(line) {
			none = true
			continue
		}
		picks, unknown := r.line(line)
		r.unknown = append(r.unknown, unknown...)
		for _, p := range picks {
			if !seen[p.at] && (r.most == 0 || len(r.picks) < r.most) {
				seen[p.at] = true
				r.picks = append(r.picks, p)
			}
		}
	}
	return r.judge(none)
}

// judge says what is wrong with the reply that was read.
func (r *reply) judge(none bool) error {
	if len(r.unknown) > 0 && r.times == 1 {
		return fmt.Errorf("%s is not in the list, whose numbers are 1 to %d", cut(visible.Line(r.unknown[0]), 100), len(r.items))
	}
	if len(r.picks) == 0 && len(r.unknown) == 0 && !none {
		return errNothing
	}
	return nil
}

func isNone(line string) bool {
	return strings.EqualFold(strings.Trim(line, " .*`[]\"'"), "none")
}

var (
	onlyNumbers = regexp.MustCompile(`^[\[\](){}\s,;>#]*\d[\[\](){}\s,;>#\d]*$`)
	number      = regexp.MustCompile(`\d+`)
	numbered    = regexp.MustCompile(`^(?:[-*•]\s*)?[*` + "`" + `]*(?:\[#?(\d+)\]|#?(\d+)[.):|]|#?(\d+)\s+[-–—|])[*` + "`" + `]*\s*[-–—:|]?\s*(.*)$`)
	bullet      = regexp.MustCompile(`^[-*•]\s+`)
)

// line reads the choices of a line.
func (r *reply) line(line string) (picks []pick, unknown []string) {
	if onlyNumbers.MatchString(line) {
		for _, n := range number.FindAllString(line, -1) {
			if at, ok := r.number(n); ok {
				picks = append(picks, pick{at, ""})
			} else {
				unknown = append(unknown, "["+n+"]")
			}
		}
		return picks, unknown
	}
	if m := numbered.FindStringSubmatch(line); m != nil {
		n, rest := m[1]+m[2]+m[3], m[4]
		if inner := numbered.FindStringSubmatch(rest); inner != nil && m[1] == "" && inner[1] != "" {
			n, rest = inner[1], inner[4] // "1. [7] why" counts its lines
		}
		name, why := head(rest)
		if at, ok := r.named(name); ok {
			return []pick{{at, said(why)}}, nil // "1. name": a name can't be meant otherwise
		}
		if at, ok := r.number(n); ok {
			return []pick{{at, said(rest)}}, nil
		}
		return nil, []string{"[" + n + "]"}
	}
	name, why := head(bullet.ReplaceAllString(line, ""))
	if at, ok := r.named(name); ok {
		return []pick{{at, said(why)}}, nil
	}
	if looksLikeName(name) && (bullet.MatchString(line) || why == "" || strings.Contains(line, ":")) {
		return nil, []string{name}
	}
	return nil, nil
}

func (r *reply) number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n - 1, err == nil && n >= 1 && n <= len(r.items)
}

// named returns the item of a name, if one alone has it.
func (r *reply) named(name string) (int, bool) {
	if r.byName == nil {
		r.byName = map[string]int{}
		for i := range r.items {
			for _, n := range r.items[i].names {
				if at, ok := r.byName[n]; ok && at != i {
					r.byName[n] = -1
				} else {
					r.byName[n] = i
				}
			}
		}
	}
	at, ok := r.byName[name]
	return at, ok && at >= 0 && name != ""
}

// head splits a line into the name that it may begin with, and the rest.
func head(line string) (name, rest string) {
	name, rest, _ = strings.Cut(line, " ")
	return strings.Trim(name, "`*\"',:;"), strings.TrimLeft(rest, " -–—:|")
}

// looksLikeName reports whether a word is a path or a method rather than a word of English.
func looksLikeName(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return strings.Contains(name, "/") || strings.Contains(name, "_") || dot > 0 && dot < len(name)-1
}

// said is a reason as a model gave it.
func said(why string) string {
	return cut(strings.TrimSpace(visible.Line(strings.TrimSpace(strings.Trim(why, "`*")))), 200)
}
