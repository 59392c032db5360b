package eval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracerag/code/words"
	"tracerag/prompt"
)

// AutoGrader is the name of the grader that [Auto] is.
const AutoGrader = "auto"

// Context is what an answer is held against.
type Context struct {
	Prompt    string     // what was asked, whole
	Functions []Function // those in the call trees of the inquiry's runs
}

// Auto grades an answer by the names in it. It marks the criteria that say what an
// answer must name, and lists what the answer cites and the prompt has not.
//
// Functions are named in code spans and in prose (see [prompt.Mentions]), with as
// many qualifiers as the answer cares to give: newTable(), csvview.newTable,
// (*Table).Border, t.Border; by a position, where no name is; and by a
// declaration in a code block. A type is named with each of its methods.
//
// One of the functions of a criterion is alone, and the criterion is met, if the
// answer names it more often than any other candidate. If another is named as
// often, it is among several, which is worth a half: answers of language models
// explain much, and what they answer is what they come back to, while in a list
// of guesses each is as good as the next. Candidates are functions of the call trees.
// What leads to an expected function in a tree is none, nor what that function
// calls itself, for both explain it; nor is what the criterion has in Beside. Code
// blocks offer no candidates, since they propose new code.
//
// Files are counted likewise, by the ends of their paths. With All, each entry
// that is named at all counts its share, and so do terms. A term's words have to
// follow each other anywhere in the answer, identifiers taken apart (RoundedBorder
// is "rounded border"), in any case; a word of four letters or more also counts as
// longer ones that begin with it, so that "align" finds "alignment". A term that is
// more than words ("[][]string", "--:") has to be there as it is written.
func Auto(inq *Inquiry, answer string, about Context) Grading {
	g := Grading{Grader: AutoGrader}
	mentions := prompt.Mentions(answer)
	functions := newThings(about.Functions)
	for i := range inq.Criteria {
		c := &inq.Criteria[i]
		var m Mark
		switch {
		case len(c.Functions) > 0:
			m = gradeFunctions(c, mentions, functions.clone())
		case len(c.Files) > 0:
			m = gradeFiles(c, answer, about.Functions)
		case len(c.Terms) > 0:
			m = gradeTerms(c, answer)
		default:
			continue
		}
		m.Criterion = c.ID
		g.Marks = append(g.Marks, m)
	}
	for _, c := range prompt.CheckCitations(answer, about.Prompt) {
		if !c.Known {
			g.Leaked = append(g.Leaked, c.Text)
		}
	}
	return g
}

func gradeFunctions(c *Criterion, mentions []prompt.Mention, t *things) Mark {
	v := newCount(c.Functions, c.Beside, t.expect)
	v.name = func(i int) string { return t.all[i].name }
	v.apart(t.around(v.targets(), v.beside))
	v.text, v.code = t.cited(mentions)
	return v.mark(c.All)
}

// filePattern finds paths of files.
var filePattern = lazily(`[\pL\pN_][\pL\pN_./@+~-]*\.[\pL][\pL\pN]*`)

func gradeFiles(c *Criterion, answer string, functions []Function) Mark {
	var files []string
	seen := map[string]bool{}
	for _, f := range functions {
		if f.File != "" && !seen[f.File] {
			seen[f.File] = true
			files = append(files, f.File)
		}
	}
	meant := func(path string) (all []int) {
		for i, f := range files {
			if samePath(f, path) {
				all = append(all, i)
			}
		}
		return all
	}
	v := newCount(c.Files, c.Beside, func(path string) []int {
		all := meant(path)
		if all == nil { // no function in it was called
			files = append(files, path)
			all = []int{len(files) - 1}
		}
		return all
	})
	v.name = func(i int) string { return files[i] }
	for _, path := range filePattern().FindAllString(answer, -1) {
		if all := meant(path); all != nil {
			v.text = append(v.text, all)
		}
	}
	narrow(v.text)
	return v.mark(c.All)
}

func gradeTerms(c *Criterion, answer string) Mark {
	words := wordsOf(answer)
	var missing []string
	for _, t := range c.Terms {
		if !slices.ContainsFunc(Alternatives(t), func(one string) bool { return hasTerm(answer, words, one) }) {
			missing = append(missing, t)
		}
	}
	return shareOf("terms", len(c.Terms), missing)
}

// hasTerm reports whether a text, whose words are given, has a term.
func hasTerm(text string, words []string, term string) bool {
	if !plainPattern().MatchString(term) {
		return strings.Contains(strings.ToLower(text), strings.ToLower(term))
	}
	want := wordsOf(term)
	for i := range len(words) - len(want) + 1 {
		if slices.EqualFunc(words[i:i+len(want)], want, sameWord) {
			return true
		}
	}
	return false
}

// plainPattern matches words, identifiers and flags.
var plainPattern = lazily(`^[\pL\pN_ .'-]*[\pL\pN][\pL\pN_ .'-]*$`)

// sameWord lets longer words count as a term's, as inflected ones. Of words of
// three letters too many others are beginnings: "tab" is no "table".
func sameWord(word, want string) bool {
	return word == want || utf8.RuneCountInString(want) >= 4 && strings.HasPrefix(word, want)
}

// wordsOf are the words of a text in lower case, those in identifiers one by one.
func wordsOf(text string) []string {
	var list []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		list = append(list, words.Split(w)...)
	}
	return list
}
