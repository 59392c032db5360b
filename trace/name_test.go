package trace

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// TestReadName: a trace's name is read without the trace.
func TestReadName(t *testing.T) {
	for _, name := range []string{"", "checkout", "TestFit/größer", strings.Repeat("x", mostName), strings.Repeat("x", mostName+1)} {
		var file bytes.Buffer
		if err := (&Trace{Recorder: "probe", Name: name}).Write(&file); err != nil {
			t.Fatal(err)
		}
		// Of the file only what is read first is there.
		head := file.Bytes()[:min(file.Len(), len(name)+16)]
		got, known := ReadName(bytes.NewReader(head))
		if want := len(name) <= mostName; known != want || known && got != name {
			t.Errorf("%.20q: read %.20q, known %v", name, got, known)
		}
		if tr, err := Read(&file); err != nil || tr.Name != name {
			t.Errorf("%.20q: the trace is not read again: %v", name, err)
		}
	}
}

// FuzzReadName: whatever is in the extra field of a header is no reason to panic.
func FuzzReadName(f *testing.F) {
	f.Add([]byte("tn\x03\x00abc"))
	f.Add([]byte("xx\x01\x00ytn\x00\x00"))
	f.Add([]byte("tn\xff\xffabc"))
	f.Fuzz(func(t *testing.T, extra []byte) {
		var file bytes.Buffer
		zw := gzip.NewWriter(&file)
		zw.Extra = extra
		if zw.Close() != nil {
			return
		}
		if name, known := ReadName(&file); known && !bytes.Contains(extra, []byte(name)) {
			t.Errorf("%q has no name %q", extra, name)
		}
	})
}
