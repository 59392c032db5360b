package rows

import (
	"slices"
	"testing"
)

// FuzzPostings decodes rows, which must not panic, and encodes what it found.
func FuzzPostings(f *testing.F) {
	var all []byte
	for i, c := range append(usual[1:], Counts{1, 2, 3, 4, 5, 60_000}, Counts{}) {
		all = appendPosting(all, uint16(100*i), c)
	}
	f.Add(all)
	f.Add([]byte{0, 0, 63, 128})
	f.Fuzz(func(t *testing.T, row []byte) {
		type posting struct {
			unit uint16
			Counts
		}
		decode := func(row []byte) (list []posting, err error) {
			err = EachPosting(row, func(unit, code uint16, c *Counts) {
				if code != 0 && usual[code] != *c {
					t.Errorf("code %d has %v", code, *c)
				}
				list = append(list, posting{unit, *c})
			})
			return list, err
		}
		list, err := decode(row)
		if err != nil {
			return
		}
		var again []byte
		for _, p := range list {
			again = appendPosting(again, p.unit, p.Counts)
		}
		if got, err := decode(again); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v became %v, %v", list, got, err)
		}
	})
}
