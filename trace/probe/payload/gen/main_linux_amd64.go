// Gen writes the recorder's machine code, as Go's assembler makes it of
// ../source, to the file that package payload embeds: make recorder.
package main

import (
	"log"
	"os"

	"tracerag/trace/probe/payload/source"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], source.Code(), 0o644); err != nil {
		log.Fatal(err)
	}
}
