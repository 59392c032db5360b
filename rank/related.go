package rank

import "strings"

// related has for the stem of a word those of words that mean nearly the same to users and
// to code: a user sees what is shown, the code prints, renders or formats it. Each line
// is such a group.
var related = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(`
show display print output write render format draw emit
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
		var stems []string
		for word := range strings.FieldsSeq(line) {
			stems = append(stems, stem(word))
		}
		for i, s := range stems {
			for j, other := range stems {
				if i != j && s != other {
					out[s] = append(out[s], other)
				}
			}
		}
	}
	return out
}()
