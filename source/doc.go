// Package source finds the text of a function that a compiled Go program
// names: from linker name, file and start line to the declaration on disk.
//
// # Names
//
// The linker's name of a function is more than the name in its source. The package
// path comes first, its last element escaped
// ("gopkg.in/yaml%2ev3.Unmarshal"), then comes the declaration ("F", "T.M",
// "(*T).M", with type arguments in brackets), then what the compiler cut out
// of that declaration:
//
//	F.func1, F.func1.2   function literals, numbered in each function around them
//	F-range1             the body of a loop that ranges over a function
//	F.gowrap1            the call of a go statement, wrapped to carry its arguments
//	F.deferwrap1         the same for a defer statement
//	(*T).M-fm            a method value
//	init.0, init.1       the init functions of a package
//	init.func1           a literal in a package variable's initialiser
//	                     (glob..func1 before Go 1.21)
//	map.init.0           a large map literal in such an initialiser
//	F.G.func1            a literal of G, copied into F because G was inlined there
//
// [symbol.Canonical] leaves the part that names the declaration. The last form shows
// why a name alone is not enough (it could be a literal of method G of type F,
// and G may even be from another package), so [Resolver.Find] goes by position
// first and by name second.
//
// # Files
//
// A binary names files by absolute path, possibly another machine's, or, built
// with -trimpath, by import path ("fmt/print.go", "example.com/m@v1.2.3/f.go").
// Both are taken back to a module, and the module to a directory: the main
// module's, a replace directive's target, the vendor directory, the module
// cache, GOROOT. Everything needed comes from [Config]; no command is run, least
// of all the go command inside a repository that is only being looked at.
//
// # Honesty
//
// What is on disk need not be what was compiled. A file that is missing, newer
// than the binary, from another Go release, or no longer has the function at
// the line that the binary gives yields a [Text] whose Warning says so. Module
// cache files are immutable and never checked for their age.
package source
