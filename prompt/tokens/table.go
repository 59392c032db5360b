package tokens

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// A table is a vocabulary's tokens, which are strings of bytes, with their ranks.
//
// It is made anew in each process, in some 15 ms, from the file that is embedded in
// tiktoken's loader. tiktoken-go itself takes 200 ms and 40 MB, for maps and a sorted list
// that only decoding needs. A prepared file beside the program would be read in a few
// milliseconds, but it would be megabytes that have to be generated, checked and, in a
// user's cache, guarded against others.
type table struct {
	text  []byte   // the tokens, one behind another by rank
	ends  []uint32 // by rank: where the token ends in text
	slots []uint32 // an open hash table: rank and tag, 0 is free
	mask  uint64

	longest int // bytes of a token
}

const (
	rankBits = 18 // of a slot, for the rank and one; the others are the tag, of the hash
	mostRank = 1<<rankBits - 2
	noRank   = ^uint32(0)
)

// readTable reads one of the files that tiktoken's loader embeds. Each line is a token in
// base64 and its rank, which is the number of the line.
func readTable(name string) (*table, error) {
	file, err := assets.Assets.Open(name + ".tiktoken")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := int(info.Size())
	t := &table{text: make([]byte, 0, size/2), ends: make([]uint32, 0, size/bytesPerLine)}
	var room [64 << 10]byte // the file as a whole would be copied
	for have, more := 0, true; more; {
		n, err := file.Read(room[have:])
		if more = err == nil && n > 0; !more && err != io.EOF {
			return nil, fmt.Errorf("%s.tiktoken: %w", name, cmp.Or(err, bufio.ErrTooLong))
		}
		read := room[:have+n]
		end := len(read)
		if more {
			end = bytes.LastIndexByte(read, '\n') + 1
		}
		for lines := read[:end]; len(lines) > 0; {
			n, ok := t.line(lines)
			if !ok || len(t.ends) > mostRank {
				return nil, fmt.Errorf("%s.tiktoken: line %d is no token with its rank", name, len(t.ends)+1)
			}
			lines = lines[n:]
		}
		have = copy(room[:], read[end:])
	}
	t.index()
	return t, nil
}

// bytesPerLine is a little less than what a line of the files has on average.
const bytesPerLine = 16

// line reads the first line of a file and returns its length.
func (t *table) line(file []byte) (n int, ok bool) {
	start := len(t.text)
	for ; n+4 <= len(file); n += 4 { // most of it: three bytes are four characters
		bits := digits64[file[n]]<<18 | digits64[file[n+1]]<<12 | digits64[file[n+2]]<<6 | digits64[file[n+3]]
		if (digits64[file[n]]|digits64[file[n+1]]|digits64[file[n+2]]|digits64[file[n+3]])&noDigit != 0 {
			break
		}
		t.text = append(t.text, byte(bits>>16), byte(bits>>8), byte(bits))
	}
	bits, have := uint32(0), 0
	for ; n < len(file) && digits64[file[n]] != noDigit; n++ {
		bits, have = bits<<6|digits64[file[n]], have+6
		if have >= 8 {
			have -= 8
			t.text = append(t.text, byte(bits>>have))
		}
	}
	for n < len(file) && file[n] == '=' {
		n++
	}
	if n == len(file) || file[n] != ' ' {
		return n, false
	}
	rank := 0
	for n++; n < len(file) && file[n] != '\n'; n++ {
		rank = 10*rank + int(file[n]-'0')
	}
	n = min(n+1, len(file))
	ok = rank == len(t.ends) && len(t.text) > start
	t.ends = append(t.ends, uint32(len(t.text)))
	return n, ok
}

// digits64 are the values of base64's characters, and noDigit for others. encoding/base64
// takes longer for such short texts.
var digits64 = func() (values [256]uint32) {
	const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range values {
		values[i] = noDigit
	}
	for i := range all {
		values[all[i]] = uint32(i)
	}
	return values
}()

const noDigit = 1 << 31

// index makes the hash table. It is not done line by line: the processor waits for memory
// here, for several slots at once if it has nothing else to do.
func (t *table) index() {
	size := 1
	for size < 2*len(t.ends) {
		size *= 2
	}
	t.slots, t.mask = make([]uint32, size), uint64(size-1)
	start := uint32(0)
	for rank, end := range t.ends {
		t.longest = max(t.longest, int(end-start))
		h := hash(t.text[start:end])
		start = end
		at := h & t.mask
		for t.slots[at] != 0 {
			at = (at + 1) & t.mask
		}
		t.slots[at] = tag(h)<<rankBits | uint32(rank+1)
	}
}

func tag(h uint64) uint32 { return uint32(h >> (32 + rankBits)) }

// rank returns a token's rank, noRank if the bytes are no token.
func (t *table) rank(b []byte) uint32 {
	h := hash(b)
	for at := h & t.mask; t.slots[at] != 0; at = (at + 1) & t.mask {
		if slot := t.slots[at]; slot>>rankBits == tag(h) {
			if rank := slot&(1<<rankBits-1) - 1; bytes.Equal(t.token(rank), b) {
				return rank
			}
		}
	}
	return noRank
}

func (t *table) token(rank uint32) []byte {
	start := uint32(0)
	if rank > 0 {
		start = t.ends[rank-1]
	}
	return t.text[start:t.ends[rank]]
}

var seed = maphash.MakeSeed()

func hash(b []byte) uint64 { return maphash.Bytes(seed, b) }

// shortPiece is the length in bytes up to which looking through all parts for the next
// merge is faster than a heap. Nearly all pieces are words.
const shortPiece = 64

// count returns how many tokens a piece has: it begins as single bytes, and of all
// neighbours that are a token together those with the lowest rank are merged, the first
// ones of equals, until there are none.
func (t *table) count(piece []byte) int {
	switch {
	case len(piece) < 2 || t.rank(piece) != noRank:
		return min(len(piece), 1)
	case len(piece) > shortPiece:
		return t.countLong(piece)
	}
	type part struct {
		start int
		rank  uint32 // of what this part and the next one are together
	}
	var room [shortPiece]part
	parts := room[:0]
	for i := range piece {
		p := part{i, noRank}
		if i+2 <= len(piece) {
			p.rank = t.rank(piece[i : i+2])
		}
		parts = append(parts, p)
	}
	// pair is the rank of part i with the one behind it.
	pair := func(i int) uint32 {
		switch {
		case i+2 < len(parts):
			return t.rank(piece[parts[i].start:parts[i+2].start])
		case i+2 == len(parts):
			return t.rank(piece[parts[i].start:])
		}
		return noRank
	}
	for {
		least, at := noRank, 0
		for i := range parts {
			if parts[i].rank < least {
				least, at = parts[i].rank, i
			}
		}
		if least == noRank {
			return len(parts)
		}
		parts = append(parts[:at+1], parts[at+2:]...)
		parts[at].rank = pair(at)
		if at > 0 {
			parts[at-1].rank = pair(at - 1)
		}
	}
}
