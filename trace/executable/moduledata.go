package executable

import "fmt"

// moduledata is what is needed of the runtime's struct of that name.
type moduledata struct {
	text uint64 // address of runtime.text, to which function entries are relative
	// after are the words that follow: one of them is the address of the
	// funcdata (see findFuncdata).
	after []uint64
}

// moduleWords is how much of the struct is looked at: the wanted words were
// the 23rd and 41st of about 70 from Go 1.20 to 1.26.
const moduleWords = 80

// findModuledata looks for the module that owns the table. A Go program is one
// module; plugins and shared libraries, which are more, load theirs at run time.
func findModuledata(im *image, t *table) (moduledata, error) {
	var m moduledata
	found := false
	err := im.pointersTo(t.addr, func(at uint64) bool {
		m, found = t.plausibleModule(im.words(at, moduleWords))
		return !found
	})
	if err != nil || found {
		return m, err
	}
	// A position-independent executable may have the pointers in its
	// relocations only. There can be millions: one pass to find the
	// candidates, and another to complete what the file has of them.
	if im.relocs != nil {
		found := map[uint64][]uint64{}
		err := im.relocs(func(a, value uint64) bool {
			if value == t.addr {
				found[a] = im.words(a, moduleWords)
			}
			return true
		})
		if err != nil {
			return moduledata{}, err
		}
		if len(found) > 0 {
			err = im.relocs(func(a, value uint64) bool {
				for start, words := range found {
					if d := a - start; a >= start && d%8 == 0 && d/8 < uint64(len(words)) {
						words[d/8] = value
					}
				}
				return true
			})
		}
		if err != nil {
			return moduledata{}, err
		}
		for _, words := range found { // at most one is the module's: any order
			if m, ok := t.plausibleModule(words); ok {
				return m, nil
			}
		}
	}
	return moduledata{}, fmt.Errorf("no module data belong to the function table at %#x: "+
		"the file is damaged, or its text lies in several sections, or it is a plugin of an unknown form", t.addr)
}

// plausibleModule tells if the words are the beginning of a moduledata that
// describes this table: the address of the table's header and of its names,
// and further on three words that agree with the function entries: the lowest
// pc, the highest one, and the start of the text.
func (t *table) plausibleModule(w []uint64) (moduledata, bool) {
	if len(w) < 2 || w[0] != t.addr || w[1] != t.addr+t.namesOff {
		return moduledata{}, false
	}
	first, last := t.entryOff(0), t.entryOff(t.nfunc)
	for i := 2; i+2 < len(w); i++ {
		text := w[i+2]
		if w[i] == text+first && w[i+1] == text+last && last > first {
			return moduledata{text: text, after: w[i+3:]}, true
		}
	}
	return moduledata{}, false
}
