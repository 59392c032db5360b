package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracerag/phrase"
)

// RequestKind says what a reader wants to see.
type RequestKind string

// The kinds of request.
const (
	WantSource  RequestKind = ""        // of a function, or the declaration of a type
	WantCallers RequestKind = "callers" // who called a function, and who those
	WantCallees RequestKind = "callees" // whom it called, and whom those
)

// Request is one thing that a reader wants to see.
type Request struct {
	Kind RequestKind
	Name string // of a function, a type, or a handle of the index: "p3"
	// Lines of the file, of a function that is too long to be shown whole; 0: all.
	From, To int
}

func (q Request) String() string {
	s := q.Name
	if q.Kind != "" {
		s = string(q.Kind) + " " + s
	}
	if q.From > 0 {
		s += fmt.Sprintf(":%d-%d", q.From, q.To)
	}
	return s
}

// Bounds of what one reply may ask for: requests, and bytes of a name.
const (
	mostRequests = 40
	longestName  = 300
)

var (
	requestLine = regexp.MustCompile(`^(?i:(source|callers|callees|types?|read)(?: of)?:? +)?(.+?)(?::(\d{1,7})(?:-(\d{1,7}))?)?$`)
	bullet      = regexp.MustCompile(`^(?:[-*+] +|\d{1,3}[.)] +)`)
	fenceLine   = regexp.MustCompile("^(?:```|~~~)")
	nameLike    = regexp.MustCompile(`^(?:#\d{1,9}|[\pL_(*](?:[^\s,;"\[]|\[[^\s"]*\])*)$`)
)

// ParseReply says what a model's reply to a round is: what it wants to read, or its
// answer. Replies that are not quite in the form that was asked for are understood where
// it is plain what they mean: a list in a code block, quoted, numbered or as JSON, words
// before READ, names with arguments or a reason behind them. A reply that only says READ
// wants to read, and says not what.
func ParseReply(text string) (reads bool, requests []Request, answer string) {
	text = strings.TrimSpace(thoughts.ReplaceAllString(text, ""))
	if list, ok := parseJSONReply(text); ok {
		return true, list, ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		word := strings.Trim(strings.TrimSpace(line), "*#`: .")
		if i == 0 && strings.EqualFold(word, "READ") {
			word = "READ"
		}
		rest := ""
		if w, r, ok := strings.Cut(strings.Trim(strings.TrimSpace(line), "*#` "), ":"); ok {
			word, rest = strings.Trim(w, "* "), r
		}
		switch {
		case word == "ANSWER":
			return false, nil, strings.TrimSpace(strings.TrimLeft(rest, "* ") + "\n" + strings.Join(lines[i+1:], "\n"))
		case word == "READ":
			list, ok := parseJSONReply(strings.TrimSpace(rest + "\n" + strings.Join(lines[i+1:], "\n")))
			if !ok {
				list = parseRequests(append([]string{rest}, lines[i+1:]...))
			}
			if i == 0 || len(list) > 0 && !quoted(lines, i) {
				return true, list, ""
			}
			return false, nil, text
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "READ "); ok {
			list := parseRequests(append([]string{rest}, lines[i+1:]...))
			if len(list) > 0 && (i == 0 || strings.Contains(list[0].Name, ".") && !quoted(lines, i)) {
				return true, list, ""
			}
		}
	}
	return false, nil, text
}

// parseJSONReply reads a reply that is a JSON object with a list of requests: {"READ": [...]}.
func parseJSONReply(text string) (out []Request, ok bool) {
	text = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(text, "```json"), "```"), "` \n\t\r")
	var object map[string]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &object) != nil || len(object) != 1 {
		return nil, false
	}
	for key, value := range object {
		var names []string
		if !strings.EqualFold(key, "READ") && !strings.EqualFold(key, "requests") || json.Unmarshal(value, &names) != nil {
			return nil, false
		}
		out = parseRequests(names)
	}
	return out, true
}

// ParseLastReply is [ParseReply] for a reply that must be the answer: one behind a list of
// requests counts, and of READ only what has nothing but requests behind it.
func ParseLastReply(text string) (reads bool, requests []Request, answer string) {
	reads, requests, answer = ParseReply(text)
	if !reads {
		return reads, requests, answer
	}
	text = strings.TrimSpace(thoughts.ReplaceAllString(text, ""))
	lines := strings.Split(text, "\n")
	read := false
	for i, line := range lines {
		word, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(line), "*#` "), ":")
		switch word = strings.Trim(word, "*# ."); {
		case word == "ANSWER":
			if _, _, answer := ParseReply(strings.Join(lines[i:], "\n")); answer != "" {
				return false, nil, answer
			}
		case !read:
			read = word == "READ" || strings.HasPrefix(word, "READ ")
		case isProse(line):
			return false, nil, text
		}
	}
	return reads, requests, ""
}

// thoughts are what some servers send in front of a reply: what a model says to itself. An
// ANSWER in them is none.
var thoughts = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?</think(?:ing)?>`)

// quoted reports whether an answer quotes the list of requests at a line: there is text that
// names code before it, and text behind its requests, up to an ANSWER.
func quoted(lines []string, at int) bool {
	if !strings.ContainsRune(strings.Join(lines[:at], "\n"), '`') {
		return false
	}
	lines = lines[at+1:]
	for _, line := range lines[:min(len(lines), mostLines)] {
		if strings.Trim(line, "*#`: \t\r") == "ANSWER" {
			return false
		}
		if isProse(line) {
			return true
		}
	}
	return false
}

// isProse reports whether a line has no request, and is not empty or markup.
func isProse(line string) bool {
	return strings.TrimSpace(line) != "" && !fenceLine.MatchString(strings.TrimSpace(line)) && len(parseRequests([]string{line})) == 0 && strings.Trim(line, " \t\r[]{},") != ""
}

// mostLines is how many lines of a reply are looked at for requests.
const mostLines = 1000

// parseRequests reads a list of requests, one a line or several behind commas. It ends
// at the first line of prose.
func parseRequests(lines []string) (out []Request) {
	for _, line := range lines[:min(len(lines), mostLines)] {
		line = strings.TrimSpace(line)
		if line == "" || fenceLine.MatchString(line) || strings.Trim(line, "[]{},") == "" {
			continue
		}
		if strings.Trim(line, "*#`: ") == "ANSWER" {
			break // of a reply that does both, the requests count
		}
		prose := true
		for _, part := range splitRequests(bullet.ReplaceAllString(line, "")) {
			q, ok := parseRequest(part)
			if !ok {
				continue
			}
			prose = false
			if !slices.Contains(out, q) && len(out) < mostRequests {
				out = append(out, q)
			}
		}
		if prose && len(out) > 0 {
			break
		}
	}
	return out
}

// splitRequests splits at commas that are in no brackets: "F, Map[K,V], callers G".
func splitRequests(line string) (parts []string) {
	depth, start := 0, 0
	for i, c := range line {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',', ';':
			if depth <= 0 {
				parts = append(parts, line[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, line[start:])
}

// ParseRequest reads one request, and says whether it is one: "table.Render",
// "table.parse:310-480", "callers table.Render", "p3", or a node's handle, "#12".
func ParseRequest(s string) (Request, bool) { return parseRequest(s) }

func parseRequest(s string) (Request, bool) {
	s = strings.TrimLeft(strings.TrimSpace(s), "[{ ")
	s = strings.TrimRight(s, "} ")
	for strings.HasSuffix(s, "]") && strings.Count(s, "]") > strings.Count(s, "[") { // of a list, not of type arguments
		s = strings.TrimRight(strings.TrimSuffix(s, "]"), " ")
	}
	s = strings.Trim(s, "`\"' ")
	for _, reason := range []string{" - ", " — ", " – ", " # ", " // ", " (", "  "} {
		if i := strings.Index(s, reason); i > 0 {
			s = s[:i]
		}
	}
	s = strings.TrimSuffix(strings.Trim(s, "`\"'*., "), "()")
	m := requestLine.FindStringSubmatch(s)
	if m == nil {
		return Request{}, false
	}
	q := Request{Name: strings.Trim(m[2], "`\"' ")}
	switch strings.ToLower(m[1]) {
	case "callers":
		q.Kind = WantCallers
	case "callees":
		q.Kind = WantCallees
	}
	if m[3] != "" {
		q.From, _ = strconv.Atoi(m[3])
		q.To = q.From
		if m[4] != "" {
			q.To, _ = strconv.Atoi(m[4])
		}
		if q.To < q.From {
			q.From, q.To = q.To, q.From
		}
		q.From, q.To = max(q.From, 1), max(q.To, 1)
	}
	return q, len(q.Name) <= longestName && nameLike.MatchString(q.Name)
}

// Knows reports whether a request names a function or a package that ran, or a type that
// such a function names.
func (r *Reader) Knows(q Request) bool {
	r.enter()
	return r.packageOf(q.Name) != nil || len(r.named(q.Name)) > 0 || r.readType(&Pieces{}, q)
}

// find returns the functions that a name means, or what is nearest to them.
func (r *Reader) find(name string) (found []*entry) {
	if found = r.named(name); len(found) > 0 {
		return found
	}
	// A closure, or an instance, is shown with the function that it is in.
	if i := strings.LastIndex(name, ".func"); i > 0 {
		return r.find(name[:i])
	}
	if i := strings.IndexByte(name, '['); i > 0 {
		return r.find(name[:i])
	}
	// Of some functions only closures ran, or are in the tree.
	want := bareName(name)
	for _, e := range r.all {
		outer, _, ok := strings.Cut(e.bare, ".func")
		if ok && want != "" && (outer == want || strings.HasSuffix(outer, "."+want) || strings.HasSuffix(outer, "/"+want)) {
			found = append(found, e)
		}
	}
	return found
}

// named returns the functions that have a name: all of them, since a name without its
// package may be that of several.
func (r *Reader) named(name string) (found []*entry) {
	r.enter()
	if id, ok := strings.CutPrefix(name, "#"); ok {
		return r.withHandle(id)
	}
	want := bareName(name)
	if want == "" {
		return nil
	}
	best := 0
	of, method, _ := strings.Cut(want, ".")
	for _, e := range r.all {
		fit := 0
		switch {
		case e.bare == want, e.short == want:
			fit = 3
		case strings.HasSuffix(e.bare, "."+want), strings.HasSuffix(e.bare, "/"+want):
			fit = 2
		case of == e.of.name && method != "" && strings.HasSuffix(e.bare, "."+method):
			fit = 1 // pkg.Method for pkg.(*T).Method
		}
		switch {
		case fit == 0 || fit < best:
		case fit > best:
			best, found = fit, []*entry{e}
		default:
			found = append(found, e)
		}
	}
	return found
}

// withHandle is the function of a node of the call tree. Of two runs a handle says nothing:
// each numbers its own.
func (r *Reader) withHandle(id string) []*entry {
	if len(r.m.runs) > 1 {
		return nil
	}
	for n := range nodes(r.m.runs[0].tree) {
		if strconv.Itoa(n.ID) != id {
			continue
		}
		it := r.m.items[*n.Func]
		if i := slices.IndexFunc(r.all, func(e *entry) bool { return e.it == it }); it != nil && i >= 0 {
			return r.all[i : i+1]
		}
	}
	return nil
}

func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// bareName is a name without what people leave out: "(*T).M" and "T.M" are the same.
func bareName(name string) string { return bare.Replace(strings.TrimSpace(name)) }

var bare = strings.NewReplacer("(", "", ")", "", "*", "")

// nearest are names that may have been meant by one that no function has: of the same
// last element, or a few letters away.
func (r *Reader) nearest(name string) (names []string) {
	last := strings.ToLower(lastName(bareName(name)))
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, e := range r.all {
		have := strings.ToLower(lastName(e.name))
		d := 0
		if have != last {
			if off := len(have) - len(last); max(off, -off) > len(last)/3 {
				continue // the distance is at least that of the lengths
			}
			if d = 1 + phrase.Distance(have, last); d > 1+len(last)/3 {
				continue
			}
		}
		found = append(found, candidate{e.fullName(), d})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	for _, c := range found[:min(len(found), 3)] {
		names = append(names, c.name)
	}
	return names
}
