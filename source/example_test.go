package source_test

import (
	"fmt"

	"tracerag/source"
)

// A Resolver finds the source of a function by its linker name and file.
func Example() {
	r := source.New(source.Config{Dir: "."})
	text := r.Find(source.Func{Name: "strings.Cut", Package: "strings", File: "$GOROOT/src/strings/strings.go"})
	fmt.Println(text.Display)
	fmt.Println(text.Signature)
	// Output:
	// std/strings/strings.go
	// func Cut(s, sep string) (before, after string, found bool)
}
