package trace

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"io"
)

// The name of a trace is also in the header of its gzip file, so that one of many traces is
// found by its name without reading any: as a subfield (RFC 1952, 2.3.1.1) of these two
// letters. Other readers pass it over. What the trace itself says counts.
const nameField = "tn"

// mostName is the longest name that is there.
const mostName = 1 << 10

func nameExtra(name string) []byte {
	if len(name) > mostName {
		return nil
	}
	return append(binary.LittleEndian.AppendUint16([]byte(nameField), uint16(len(name))), name...)
}

// ReadName reads the name in a file's header. It is not known of files that other tools or
// versions have written.
func ReadName(r io.Reader) (name string, known bool) {
	zr, err := gzip.NewReader(bufio.NewReaderSize(r, 512))
	if err != nil {
		return "", false
	}
	for extra := zr.Extra; len(extra) >= 4; {
		n := int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return "", false
		}
		if string(extra[:2]) == nameField {
			return string(extra[4:][:n]), true
		}
		extra = extra[4+n:]
	}
	return "", false
}
