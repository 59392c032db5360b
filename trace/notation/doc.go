// Package notation writes the values of a program as text: arguments and results, as [tracerag/trace.Value] has them.
//
// A [Value] is what a recorder learned of a value, wherever from: out of a stopped process (package
// trace/breakpoint/values), or from the program itself (package trace/rebuild). How it is written is decided here
// alone, so values of all recorders can be compared.
//
// # The notation
//
// It is one line of Go's notation for values, with the types left out except those of what interfaces hold.
// Equal values have equal texts: the text has no addresses, and a map's entries are sorted.
// Each value is written to the depth at which it fits into 200 bytes. What is left out is "...",
// what could not be read is "?".
//
//	true  -8  3.5  NaN  (1-2i)                 booleans and numbers
//	"text"  "long long lo"...                  strings, slices of bytes
//	[1, 2, 3]  {Name: "Ann", Age: 61}          slices, arrays; structs, without blank fields
//	{"one": 1, "two": 2}  {...17 entries}      maps; large ones by their size
//	&{n: 1}  &...  nil                         pointers, unsafe ones, nil of all kinds
//	main.celsius(21.5)                         interfaces
//	main.main.func1  chan(0 of 3)              functions, channels
//	2026-01-02T15:04:05Z                       time.Time
//	{name: "/dev/stdout"}                      os.File
//	...                                        structs of packages sync and testing
package notation
