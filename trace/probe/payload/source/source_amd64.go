// Package source holds the recorder's source and gives the machine code that
// Go's assembler makes of it. Only the generator and the tests of package
// payload use it: the product embeds the code.
package source

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

func recorder()
func start() uintptr

// The code ends before this number, see ENDMARK.
const endMark = 0x7e5700007e570009

// Code returns the recorder's machine code, its holes not filled.
func Code() []byte {
	const most = 16 << 10 // the text goes on for longer than that
	text := unsafe.Slice((*byte)(pointer(start())), most)
	n := bytes.Index(text, binary.LittleEndian.AppendUint64(nil, endMark))
	return bytes.Clone(text[:n-2]) // without the two bytes that load the mark
}

// pointer is the address of code, which the garbage collector does not move.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

var _ = recorder // called from other programs only
