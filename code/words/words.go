package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// Each calls f for every word of text: a run of letters, digits and
// underscores, as an identifier is one.
func Each(text string, f func(word string)) {
	start := -1
	for i := 0; i < len(text); {
		inWord, n := false, 1
		if c := text[i]; c < utf8.RuneSelf {
			inWord = wordByte[c]
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(text[i:])
			inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
		}
		if inWord && start < 0 {
			start = i
		} else if !inWord && start >= 0 {
			f(text[start:i])
			start = -1
		}
		i += n
	}
	if start >= 0 {
		f(text[start:])
	}
}

var wordByte = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return t
}()

// Whole returns an identifier as one word. The sign keeps it apart from words
// of one part.
func Whole(word string) string {
	return "=" + strings.ToLower(strings.ReplaceAll(word, "_", ""))
}

// PassedOver reports whether a part says nothing: a stop word, one letter, or a number,
// which code has everywhere.
func PassedOver(part string) bool {
	return stopWords[part] || len(part) < 2 || strings.Trim(part, "0123456789") == ""
}

// Stem returns what is compared of a part: its long form if it is an
// abbreviation, without its ending.
func Stem(part string) string { return english.Stem(infinitive(Long(part)), false) }

// Lead returns the first letters of the stem of a part, at most two, for a small part of what stemming
// costs: no ending that is taken off reaches them, but for three words. A stem of one letter
// is the first of them.
func Lead(part string) string {
	word := infinitive(Long(part))
	switch word {
	case "dying":
		return "di"
	case "lying":
		return "li"
	case "tying":
		return "ti"
	}
	return word[:min(2, len(word))]
}

// Long returns the long form of a part that is an abbreviation, other parts as they are.
func Long(part string) string {
	if long, ok := abbreviations[part]; ok {
		return long
	}
	return part
}

// infinitive returns the verb of an irregular form, which no ending tells: "rewritten" is
// rewrite. Other words stay.
func infinitive(word string) string {
	if verb, ok := irregular[word]; ok {
		return verb
	}
	for _, prefix := range [...]string{"re", "un", "over", "under", "out"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			if verb, ok := irregular[rest]; ok {
				return prefix + verb
			}
		}
	}
	return word
}

// irregular are verbs that programs and reports about them have. Forms that are words of
// their own (left, saw, felt, ground) are not among them.
var irregular = pairs(`
beaten beat   became become   begun begin   began begin   bent bend   bound bind   bitten bite
blew blow   blown blow   broke break   broken break   brought bring   built build   burnt burn
bought buy   caught catch   chose choose   chosen choose   came come   crept creep   dealt deal
drew draw   drawn draw   drove drive   driven drive   ate eat   eaten eat   fell fall
fallen fall   fed feed   fought fight   found find   fled flee   flown fly   forbade forbid
forbidden forbid   forgot forget   forgotten forget   froze freeze   frozen freeze   gave give
given give   grew grow   grown grow   heard hear   held hold   hid hide   hidden hide   kept keep
knew know   known know   laid lay   led lead   lent lend   lost lose   met meet   paid pay   ran run
rode ride   ridden ride   rose rise   risen rise   said say   seen see   sought seek   sent send
shook shake   shaken shake   showed show   shown show   shrank shrink   shrunk shrink   slept sleep
sold sell   spent spend   spun spin   stole steal   stolen steal   stuck stick
struck strike   swept sweep   swore swear   sworn swear   taught teach   threw throw
thrown throw   thought think   told tell   took take   taken take   tore tear   torn tear
understood understand   woke wake   woken wake   wore wear   worn wear   wound wind   wrote write
written write
`)

// stopWords say nothing about which function is meant: English ones, those that
// every report of a bug has, and Go's own.
var stopWords = set(`
a about after again all also am an and any are as at be because been before
being below between both but by can could did do does doing don down during
each either else few for from further get gets given got had has have having
he her here hers him his how however i if in into is isn it its itself just
may me might more most must my no nor not now of off on once only or other
our out over own rather re same she should since so some such than that the
their them then there these they this those through thus to too under until up
upon us use used uses using very via was we were what when where whether which
while who whom why will with within without would yet you your

add added adding adds bug bugs case cases change changed changes fix fixed fixes
fixing issue issues make makes patch previously support test tested testing
tests update updated

break chan const continue default defer fallthrough func go goto import
interface map package range return select struct switch type var
bool byte error false int nil string true
`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// abbreviations are those that are usual in Go programs, with the words that
// people write instead.
var abbreviations = pairs(`
addr address   alloc allocate   arg argument   args argument   attr attribute
attrs attribute   buf buffer   cfg config   char character   chars character
cmd command   cmds command   cond condition   conf config   const constant
ctx context   cur current   curr current   decl declaration   decls declaration
del delete   desc description   dest destination   dir directory
dirs directory   doc document   dst destination   elem element   elems element
env environment   err error   errs error   eval evaluate   exec execute
expr expression   exprs expression   ext extension   fn function
func function   funcs function   gen generate   ident identifier
idx index   impl implementation   info information   init initialize
iter iterate   len length   lit literal   loc location   max maximum
mem memory   min minimum   msg message   num number   obj object   op operator
ops operator   opt option   opts option   param parameter   params parameter
pkg package   pos position   prev previous   prop property   props property
ptr pointer   recv receiver   ref reference   refs reference   req request
resp response   ret return   sep separator   sig signature   spec specification
src source   stmt statement   stmts statement   str string   sym symbol
sync synchronize   tmp temporary   tok token   typ type   val value   vals value
var variable   vars variable
`)

func pairs(words string) map[string]string {
	m := map[string]string{}
	fields := strings.Fields(words)
	for i := 0; i < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m
}
