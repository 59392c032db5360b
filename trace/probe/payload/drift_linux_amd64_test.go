package payload

import (
	"bytes"
	"testing"

	"tracerag/trace/probe/payload/source"
)

// The code that is embedded is the one that the assembler makes of the source.
func TestEmbeddedCodeIsTheSource(t *testing.T) {
	if !bytes.Equal(recorder, source.Code()) {
		t.Fatal("recorder.bin is not made of source/recorder_amd64.s: make recorder")
	}
}
