package words

import (
	"fmt"
	"strings"
)

// groups are words that mean nearly the same to users and to code: a user sees what is
// shown, the code prints, renders or formats it. Each line is one. In a question a word
// counts for its group, too, which is a term of its own ("~3"), so that a function with
// many words of it has it as one with a single one does.
var groups = func() (g struct {
	of      map[string][]string // terms of the groups that a stem is in
	members map[string][]string // stems of a group, by its term
}) {
	g.of, g.members = map[string][]string{}, map[string][]string{}
	term := 0
	for line := range strings.Lines(`show display print output write render format draw emit
align pad indent width column
color colour style highlight paint
remove delete strip trim drop erase discard
skip ignore omit exclude hide
sort order compare less
quote escape encode
fail error invalid reject refuse abort
read parse load scan decode
find search lookup match resolve locate
replace substitute rewrite
choose select pick prefer
join merge combine concatenate append
split separate divide cut
count number length size
begin start open init
end stop close finish
blank space whitespace empty
convert transform translate
warn complain report
wrap break fold newline
copy clone duplicate
check validate verify
same equal alike
list enumerate iterate
shorten truncate abbreviate
round precision decimal
`) {
		term++
		key := fmt.Sprint("~", term)
		for word := range strings.FieldsSeq(line) {
			s := Stem(word)
			g.of[s] = append(g.of[s], key)
			g.members[key] = append(g.members[key], s)
		}
	}
	return g
}()

// Groups returns the groups that a stem is in, as terms of their own.
func Groups(stem string) []string { return groups.of[stem] }

// Members returns the stems of a group; nil of a term that is no group.
func Members(group string) []string { return groups.members[group] }
