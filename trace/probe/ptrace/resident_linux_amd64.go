package ptrace

import (
	"encoding/binary"
	"fmt"
	"os"
)

// MostSearched bounds the memory that Resident looks through, in bytes of addresses: a
// tenth of a second. The race detector reserves more.
const MostSearched = 256 << 30

// Resident returns those parts of a range of addresses, whole pages, that have contents: a
// process may reserve far more than it has ever touched. Where the kernel does not say,
// that is all of it. What a file that is mapped has, and nobody has read, is left out.
func (p *Process) Resident(r Range) []Range {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", p.pid))
	if err != nil {
		return []Range{r}
	}
	defer f.Close()
	const present, swapped = 1 << 63, 1 << 62
	var parts []Range
	buf := make([]byte, min(1<<20, (r.End-r.Start)/pageSize*8))
	for at := r.Start; at < r.End; {
		b := buf[:min(uint64(len(buf)), (r.End-at)/pageSize*8)]
		n, err := f.ReadAt(b, int64(at/pageSize*8))
		if n < 8 {
			if err != nil || len(b) == 0 {
				return append(parts, Range{at, r.End})
			}
			continue
		}
		for b = b[:n&^7]; len(b) > 0; b, at = b[8:], at+pageSize {
			switch last := len(parts) - 1; {
			case binary.LittleEndian.Uint64(b)&(present|swapped) == 0:
			case last >= 0 && parts[last].End == at:
				parts[last].End += pageSize
			default:
				parts = append(parts, Range{at, at + pageSize})
			}
		}
	}
	return parts
}
