package locate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"tracerag/code/words"
)

// report is what a report's text has beside its words.
type report struct {
	text        string   // without stack traces
	title, rest string   // of text
	names       []string // identifiers, "F" and "T.M"
	places      []string // of packages and files, as they are written
	quoted      []string // texts that code may have in a literal
	tests       []string // "TestX"
	frames      []frame
}

// The most that is looked for of each kind: reports may be logs of megabytes.
const (
	maxNames  = 60
	maxQuoted = 20
	maxPlaces = 20
)

func read(text string) *report {
	text = withoutData(colours.ReplaceAllString(text, ""))
	r := &report{frames: frames(text), text: strings.TrimSpace(bounded(withoutFrames(text)))}
	text = r.text
	r.title, r.rest, _ = strings.Cut(text, "\n")
	r.names = names(text)
	r.places = places(r.title, text)
	r.quoted = quotations(text)
	r.tests = unique(testName.FindAllString(text, maxNames))
	return r
}

// colours are what programs print for a terminal.
var colours = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

var testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)[A-Z_]\w*`)

var (
	dotted = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*`)
	method = regexp.MustCompile(`\(\*(\w+)\)\.(\w+)`)
)

// names returns the words of a text that are written as identifiers are: with capitals
// or underscores inside, before "(", or in backquotes; of "a.B.c" the pairs as well.
func names(text string) []string {
	var out []string
	for _, m := range method.FindAllStringSubmatch(text, maxNames) {
		out = append(out, m[1]+"."+m[2])
	}
	for _, at := range dotted.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		called := at[1] < len(text) && text[at[1]] == '('
		ticked := at[0] > 0 && text[at[0]-1] == '`'
		parts := strings.Split(word, ".")
		for i, p := range parts {
			if i > 0 {
				out = append(out, parts[i-1]+"."+p)
			}
			if len(p) > 2 && (called && i == len(parts)-1 || ticked || len(parts) > 1 && i > 0 || mixed(p)) {
				out = append(out, p)
			}
		}
		if len(out) > 2*maxNames {
			break
		}
	}
	out = unique(out)
	return out[:min(len(out), maxNames)]
}

// mixed reports whether a word is written as an identifier of several words.
func mixed(word string) bool {
	for i, r := range word {
		if i > 0 && (r == '_' || unicode.IsUpper(r)) && strings.ToUpper(word) != word {
			return true
		}
	}
	return false
}

var (
	// beforeColon are conventions for what a title is about: "net/http: ...",
	// "a, b/c: ...", "fix(vm): ...", "[resolve] ...".
	beforeColon = regexp.MustCompile(`^(?:\w+\(([^()]+)\)!?:|\[([^\[\]]+)\]|([\w./,*{} -]+):\s)`)
	// written are paths: of Go files, and of directories of two elements or more.
	written = regexp.MustCompile(`[\w.@~+-]+(?:/[\w.@~+-]+)*\.go\b|[A-Za-z_][\w.-]*(?:/[\w.-]+)+`)
	web     = regexp.MustCompile(`https?://\S+`)
)

func places(title, text string) []string {
	var out []string
	if m := beforeColon.FindStringSubmatch(title); m != nil {
		for p := range strings.FieldsFuncSeq(m[1]+m[2]+m[3], func(r rune) bool { return strings.ContainsRune(", {}*", r) }) {
			if p = strings.Trim(p, "./"); len(p) > 1 {
				out = append(out, p)
			}
		}
	}
	for _, p := range written.FindAllString(web.ReplaceAllString(text, " "), -1) {
		if p = strings.Trim(p, "./"); p != "" {
			out = append(out, p)
		}
	}
	out = unique(out)
	return out[:min(len(out), maxPlaces)]
}

var (
	between = regexp.MustCompile("\"([^\"\n]{8,200})\"|`([^`\n]{8,200})`|'([^'\n]{8,200})'")
	failure = regexp.MustCompile(`(?mi)^\s*(?:panic|fatal error|error|err|fatal|--- FAIL)\b[^:\n]*:\s*(.{8,300})$`)
)

// quotations returns texts between quotation marks, and what follows "error:" and the like:
// messages, that wrap each other with colons.
func quotations(text string) []string {
	var out []string
	put := func(s string) {
		if s = strings.Trim(s, " \t:,.;"); len(s) >= 8 && strings.ContainsAny(s, " \t") {
			out = append(out, s)
		}
	}
	for _, m := range between.FindAllStringSubmatch(text, maxQuoted) {
		put(m[1] + m[2] + m[3])
	}
	for _, m := range failure.FindAllStringSubmatch(text, maxQuoted) {
		put(m[1])
		for part := range strings.SplitSeq(m[1], ": ") {
			put(part)
		}
	}
	out = unique(out)
	return out[:min(len(out), maxQuoted)]
}

// weights returns the terms of the report with what they count, those of the title double.
func (r *report) weights() map[string]float64 {
	out := map[string]float64{}
	for _, t := range words.Terms(r.title) {
		out[t] += 2
	}
	for _, t := range words.Terms(r.rest) {
		out[t]++
	}
	return out
}

// unique removes what is there before.
func unique(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func sortedKeys(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// simple returns the last part of a name.
func simple(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// nameTerms returns the terms of a name's words.
func nameTerms(name string) []string {
	return slices.DeleteFunc(words.Terms(name), func(t string) bool { return t[0] == '=' })
}
