package source

import (
	"sync"
	"time"
)

// Module is a module of the binary's build information.
type Module struct {
	Path, Version string
	// Dir is the module's directory where it is known: that of the main
	// module, or the absolute target of a replace directive. May be empty.
	Dir string
	// ReplacePath and ReplaceVersion are the right-hand side of a replace
	// directive. Without a version ReplacePath is a directory, relative to
	// the main module's.
	ReplacePath, ReplaceVersion string
}

// Config says where sources may lie. The zero Config resolves what absolute
// paths and the standard library give.
type Config struct {
	Main Module
	Deps []Module
	// MainPackage is the import path of the program's main package (the
	// build information's Path). Without it files of that package are found
	// by absolute path, or by a guess that the Text's Warning confesses.
	MainPackage string
	// Dir is the directory of the run. The main module is looked for there
	// and in its parents when Main.Dir is empty.
	Dir string
	// GOROOT and GOMODCACHE default to what the environment and the
	// conventional places give ($GOROOT, the Go release that built this
	// program, the go command's place in $PATH; $GOMODCACHE,
	// $GOPATH/pkg/mod, ~/go/pkg/mod).
	GOROOT, GOMODCACHE string
	// GoVersion is the release that built the binary ("go1.26.8").
	GoVersion string
	// GOOS and GOARCH are what the binary was built for; those of this machine
	// where they are empty.
	GOOS, GOARCH string
	// Built is the binary's modification time; zero when unknown, and then
	// no file counts as too new.
	Built time.Time
	// Roots are further directories to look in: a module's directory, or a
	// directory laid out like GOPATH/src or the module cache.
	Roots []string
	// RootsBy is how a user names Roots, such as a flag; the warnings about files that
	// are not found end with it. May be empty.
	RootsBy string
}

// Func asks for a function as the binary names it.
type Func struct {
	Name    string // linker name
	Package string // import path; "main" is fine for a main package
	File    string
	// StartLine is the line of the func keyword (or TEXT directive); 0 when
	// unknown, and then the name alone decides. The line of the first
	// instruction serves too.
	StartLine int
}

// Kind says what a function's text is.
type Kind int

const (
	Declared  Kind = iota // a declaration of its own
	Closure               // a part of a declaration: literal, loop body, go or defer statement
	Generated             // made by the compiler or a tool; there is no text to show
	Assembly              // a TEXT block of a .s file
	Missing               // there is a source, but not here; Warning says why
)

func (k Kind) String() string {
	switch k {
	case Declared:
		return "declared"
	case Closure:
		return "closure"
	case Generated:
		return "generated"
	case Assembly:
		return "assembly"
	case Missing:
		return "missing"
	}
	return "unknown"
}

// Text is the source of a function. Line ends are "\n" whatever the file has.
type Text struct {
	Kind Kind
	// Path is the file on disk, empty when Kind is Generated or Missing.
	Path string
	// Display names the file the same way on every machine:
	// "cmd/app/main.go" in the main module,
	// "github.com/x/y@v1.2.3/dir/f.go" in a dependency (the replacement's
	// path and version where a module replaces it, the path alone where a
	// directory does), "std/fmt/print.go" in the standard library.
	Display string
	// Decl is the declaration in source terms: "F", "T.M", "(*T).M", the
	// names of a package variable. For a closure it is the enclosing one.
	Decl string
	// Start and End are lines, from 1, of Body without its doc comment.
	// For a literal in the initialiser of a package variable they are those
	// of the whole var spec, as Body is.
	Start, End int
	// DocStart is the first line of the doc comment, or Start.
	DocStart int
	// Doc is the comment with its slashes, Signature what is before
	// the opening brace, Body the whole declaration with its signature.
	Doc, Signature, Body string
	// Parent is, for a closure, the linker name of the enclosing
	// declaration, for a method value that of the method. Type arguments are
	// left out. For literals in the initialiser of a package variable it is
	// the variable's name: all of those have the same text. Find with Parent
	// as the name, the same package and file, and no line gives its text.
	Parent string
	// Warning is empty or one sentence without a full stop: why there is no
	// text, or why it may differ from what ran.
	Warning string
}

// Resolver finds the texts of one binary's functions. It keeps each file that
// it has read, and is safe for concurrent use.
type Resolver struct {
	places *places
	built  time.Time

	mu      sync.Mutex
	texts   map[Func]Text
	located map[Func]located   // by package and file
	files   map[string]*file   // by path; nil: cannot be read
	dirs    map[string][]place // Go files of a directory, by its path

	packages map[packageKey]*globals
	imported map[string]importedFile // by import path
	declared map[string]*skimmed     // by path
}

// New returns a Resolver for the binary that c describes.
func New(c Config) *Resolver {
	return &Resolver{
		places:  newPlaces(c),
		built:   c.Built,
		texts:   make(map[Func]Text),
		located: make(map[Func]located),
		files:   make(map[string]*file),
		dirs:    make(map[string][]place),

		packages: make(map[packageKey]*globals),
		imported: make(map[string]importedFile),
		declared: make(map[string]*skimmed),
	}
}

// Find returns the text of f. It does not fail: what cannot be found is a Text
// of kind Missing whose Warning says what to do.
func (r *Resolver) Find(f Func) Text {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.texts[f]
	if !ok {
		t = r.find(f)
		r.texts[f] = t
	}
	return t
}
