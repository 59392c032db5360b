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
	items    []item
	shown    []bool   // nil: all of them
	most     int      // 0 is any
	sections []string // "WRITE": headings in the reply; the last one's choices are free texts

	byName  map[string]int // of items; -1 is several
	times   int            // that a reply was read
	picks   []pick
	unknown []string // names and numbers that are in no list
	free    []string // what is in the last section
}

// errNothing is what is wrong with a reply without a choice.
var errNothing = errors.New("no line begins with a number in brackets, and it is not NONE")

// read reads a reply. Choices that are not in the list are refused the first time.
func (r *reply) read(text string) error {
	r.times++
	r.picks, r.unknown, r.free = nil, nil, nil
	seen := map[int]bool{}
	none := false
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if s, rest := r.section(line); s != "" {
			section, line = s, rest
		}
		if isNone(line) {
			none = true
			continue
		}
		if n := len(r.sections); n > 0 && section == r.sections[n-1] {
			if line = bullet.ReplaceAllString(line, ""); line != "" && len(r.free) < r.most {
				r.free = append(r.free, said(line))
			}
			continue
		}
		picks, unknown := r.line(line)
		r.unknown = append(r.unknown, unknown...)
		for _, p := range picks {
			if !seen[p.at] && (r.most == 0 || len(r.picks) < r.most) {
				seen[p.at] = true
				p.section = section
				r.picks = append(r.picks, p)
			}
		}
	}
	return r.judge(none)
}

// judge says what is wrong with the reply that was read.
func (r *reply) judge(none bool) error {
	if len(r.unknown) > 0 && r.times == 1 {
		return fmt.Errorf("%s is not in the list: choose numbers that it has", cut(visible.Line(r.unknown[0]), 100))
	}
	if len(r.picks)+len(r.unknown)+len(r.free) == 0 && !none {
		return errNothing
	}
	return nil
}

// section returns the section that a line begins, and what is behind its name: "**WRITE:** [7]".
func (r *reply) section(line string) (name, rest string) {
	head := strings.TrimLeft(line, "#*-_ ")
	for _, s := range r.sections {
		if len(head) >= len(s) && strings.EqualFold(head[:len(s)], s) {
			rest := strings.TrimLeft(head[len(s):], "*_ ")
			if rest == "" || rest[0] == ':' {
				return s, strings.TrimLeft(rest, ":*_ ")
			}
		}
	}
	return "", line
}

func isNone(line string) bool {
	return strings.EqualFold(strings.Trim(line, " .*`[]\"'"), "none")
}

var (
	onlyNumbers = regexp.MustCompile(`^[\[\](){}\s,;>#]*\d[\[\](){}\s,;>#\d]*$`)
	number      = regexp.MustCompile(`\d+`)
	numbered    = regexp.MustCompile(`^(?:[-*•]\s+)?[*` + "`" + `]*(?:\[#?(\d+)\]|#?(\d+)[.):|]|#?(\d+)\s+[-–—|])[*` + "`" + `]*\s*[-–—:|]?\s*(.*)$`)
	bullet      = regexp.MustCompile(`^[-*•]\s+`)
)

// line reads the choices of a line.
func (r *reply) line(line string) (picks []pick, unknown []string) {
	if onlyNumbers.MatchString(line) {
		for _, n := range number.FindAllString(line, -1) {
			if at, ok := r.number(n); ok {
				picks = append(picks, pick{at: at})
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
			return []pick{{at: at, why: said(why)}}, nil // "1. name": a name can't be meant otherwise
		}
		if at, ok := r.number(n); ok {
			return []pick{{at: at, why: said(rest)}}, nil
		}
		return nil, []string{"[" + n + "]"}
	}
	name, why := head(bullet.ReplaceAllString(line, ""))
	if at, ok := r.named(name); ok {
		return []pick{{at: at, why: said(why)}}, nil
	}
	if looksLikeName(name) && (bullet.MatchString(line) || why == "" || strings.Contains(line, ":")) {
		return nil, []string{name}
	}
	return nil, nil
}

func (r *reply) number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n - 1, err == nil && n >= 1 && n <= len(r.items) && r.has(n-1)
}

func (r *reply) has(at int) bool { return r.shown == nil || r.shown[at] }

// named returns the item of a name, if one alone has it.
func (r *reply) named(name string) (int, bool) {
	if r.byName == nil {
		r.byName = map[string]int{}
		for i := range r.items {
			if !r.has(i) {
				continue
			}
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
