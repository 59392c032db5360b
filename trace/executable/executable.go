// Package executable reads compiled Go programs: which functions they hold, from
// which packages, modules, files and lines, which calls were inlined where,
// and how they were built.
//
// # Where the facts come from
//
// Every Go executable carries the table that its own runtime uses for stack
// traces, the pclntab ("pc, line table"). It cannot be stripped, so it is the
// only source that works for any program, also one built with
// -ldflags="-s -w" or -trimpath. DWARF and symbol tables are not read.
//
//   - The pclntab has a header (a magic number, the number of functions, and
//     where its parts begin), the function names, the file names, a table of
//     function entries, and one record for each function. A record points to
//     pc-value tables: delta-coded lists of "from here to there the value is
//     v", one each for the file, the line and the inlined call at a pc.
//   - The runtime's moduledata struct says at which address the text begins,
//     and where the funcdata lies, which holds the inline trees: for each
//     inlined call the callee's name, and a pc in place of its call site.
//     Its layout changes between Go releases. It is therefore found by what
//     must be true of it: it begins with the address of the pclntab, and the
//     numbers in it agree with the pclntab's. No offset is wired in.
//   - Build information (modules, settings) is the blob that
//     debug/buildinfo reads.
//
// The formats are those of Go 1.21 (the first with start lines and the present
// inline trees) and later, for 64-bit little-endian machines, in ELF, Mach-O
// (also universal) and PE files. A program whose text was split in several
// sections by an external linker (over 100 MB of code on arm64) is refused.
//
// # Vocabulary
//
// A function of [File.Funcs] is a physical one: a symbol with code of its own.
// An inlined call is a copy of a function's body inside another one; it has
// no frame on the stack. A function that is inlined everywhere is not in
// Funcs at all. [File.Frames] gives what a stack trace would print for a pc:
// the inlined calls around it, innermost first, and then the physical function.
//
// All addresses are link-time addresses: in a position-independent executable
// ([File.PIE]) the kernel adds the same offset to all of them.
package executable

import (
	"debug/buildinfo"
	"fmt"
	"go/version"
	"io"
	"os"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
)

// File is one compiled Go program. Its methods fill caches: use it from one
// goroutine at a time. Nothing in it refers to the file on disk any more.
type File struct {
	Path    string
	BuildID string // Go build ID; else the GNU build ID in hex; else ""

	GoVersion string // as build info has it ("go1.26.1"), "" when unknown
	GOOS      string
	GOARCH    string

	// MainPath is the import path of the main package: "X.test" for the test
	// binary of package X, "command-line-arguments" for a program built from
	// a list of files, and "" when the program has no build info.
	MainPath   string
	MainModule Module
	Deps       []Module
	Settings   []Setting // in the order in which the go command wrote them

	PIE      bool // loaded at an address that is chosen at run time
	Stripped bool // neither symbol table nor DWARF
	Race     bool // built with the race detector
	Cgo      bool // runtime/cgo is linked in: threads and callbacks of C are possible

	TextStart uint64 // link-time address of runtime.text
	TextEnd   uint64 // link-time address of runtime.etext
	Funcs     []Func // sorted by Entry

	info   os.FileInfo  // of the file, when it was opened
	ready  func() error // reads the functions, once; nil: they are read
	tab    *table
	pcs    []*pcTables        // decoded tables, by index in Funcs
	frames map[uint64][]Frame // what Frames said before
	std    map[string]bool    // first path element: is it below the runtime's own source root?
}

// Module is a module as the build info names it.
type Module struct {
	Path    string
	Version string // "(devel)" or "" for a main module without one
	Sum     string
	Replace *Module // what it was replaced by, or nil
}

// Setting is one build setting: "-trimpath"="true", "vcs.revision"=...,
// "CGO_ENABLED"="1".
type Setting struct {
	Key, Value string
}

// Func is a function that has code of its own.
type Func struct {
	// Name is the linker's name: "main.(*T).M", "main.main.func1",
	// "pkg.Map[go.shape.int]" (one of the copies of a generic function; all
	// have the same File and StartLine).
	Name string
	// Package is the import path that Name begins with, where "main" is
	// replaced by File.MainPath when that is known. It is "" for names
	// without one: some of the runtime's assembly, compiler-made type
	// functions ("type:.eq.main.T"), C functions and exports to C, and markers
	// of the linker ("go:textfipsend").
	Package string
	// File and StartLine say where the function begins ("func" keyword or
	// TEXT directive), as the binary names it: an absolute path, or
	// "module@version/file.go" with -trimpath, or what a //line directive
	// said. "" when the binary does not say.
	File      string
	StartLine int
	// Entry and End bound the code. End is the next function's entry: padding
	// counts.
	Entry, End uint64
	// Wrapper is set for what the compiler made: method wrappers, go and defer
	// wrappers, hash and equality functions, and the function "pkg.init" that
	// initialises a package's variables.
	Wrapper bool
	Asm     bool // written in assembly
}

// Open reads the program at path. It reads tables only; nothing is run. The
// error says what is wrong with the file and, where there is one, the way out.
func Open(path string) (*File, error) {
	f, err := OpenLater(path)
	if err == nil {
		err = f.Ready()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenLater is Open for who need not know the functions yet, which take most of the time.
// They are read meanwhile, and are there after [File.Ready]: before it nothing is known
// but what the headers and the build information say.
func OpenLater(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Ready waits until the functions are read. An error says that the program has none that
// can be read.
func (f *File) Ready() error {
	if f.ready == nil {
		return nil
	}
	return f.ready()
}

func open(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		if pe, ok := err.(*os.PathError); ok {
			err = pe.Err // the caller adds the path
		}
		return nil, err
	}
	later := false
	defer func() {
		if !later {
			r.Close()
		}
	}()
	st, err := r.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fmt.Errorf("is a directory: name the executable, such as the one that \"go build -o app\" writes there")
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("is not a regular file: name an executable")
	}
	f, im, err := newHead(path, r, st.Size())
	if err != nil {
		return nil, err
	}
	f.info = st
	// Into a File of its own: nobody sees a half of it.
	whole, done, later := *f, make(chan error, 1), true
	go func() {
		defer r.Close()
		done <- whole.readTables(im)
	}()
	f.ready = sync.OnceValue(func() error {
		if err := <-done; err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		f.tab, f.TextStart, f.TextEnd = whole.tab, whole.TextStart, whole.TextEnd
		f.Funcs, f.pcs, f.Race, f.Cgo = whole.Funcs, whole.pcs, whole.Race, whole.Cgo
		return nil
	})
	return f, nil
}

// BuildID returns the build ID of the program in a file, as [Open] would, without
// reading its tables.
func BuildID(path string) (string, error) {
	r, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return "", err
	}
	im, err := newImage(r, st.Size())
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return im.buildID(), nil
}

// newFile reads the program in the first size bytes of r.
func newFile(path string, r io.ReaderAt, size int64) (*File, error) {
	f, im, err := newHead(path, r, size)
	if err == nil {
		err = f.readTables(im)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// newHead reads what is known without the functions.
func newHead(path string, r io.ReaderAt, size int64) (*File, *image, error) {
	im, err := newImage(r, size)
	if err != nil {
		return nil, nil, err
	}
	f := &File{
		Path:     path,
		BuildID:  im.buildID(),
		GOOS:     im.goos,
		GOARCH:   im.goarch,
		PIE:      im.pie,
		Stripped: im.stripped,
		frames:   map[uint64][]Frame{},
	}
	// A program without build info (another build system, or an old
	// linker) is as good as any: it is only known less well.
	if bi, err := buildinfo.Read(im.r); err == nil {
		f.setBuildInfo(bi)
	}
	if v, _, _ := strings.Cut(f.GoVersion, " "); version.IsValid(v) && version.Compare(v, oldestGo) < 0 {
		return nil, nil, fmt.Errorf("built with %s: its tables cannot be read: build it with Go 1.21 or later", f.GoVersion)
	}
	return f, im, nil
}

// readTables reads the functions.
func (f *File) readTables(im *image) (err error) {
	if f.tab, err = readTable(im); err != nil {
		return err
	}
	f.TextStart, f.TextEnd = f.tab.text, f.tab.textEnd
	f.readFuncs()
	f.pcs = make([]*pcTables, len(f.Funcs))
	return nil
}

// Clone returns a File for another goroutine: it has the same program, and caches of its own.
func (f *File) Clone() *File {
	c := *f
	c.frames, c.pcs, c.std = map[uint64][]Frame{}, make([]*pcTables, len(f.Funcs)), nil
	return &c
}

// oldestGo is the first release whose functions have start lines and whose
// inline trees have the present form.
const oldestGo = "go1.21"

func (f *File) setBuildInfo(bi *debug.BuildInfo) {
	f.GoVersion = bi.GoVersion
	f.MainPath = bi.Path
	f.MainModule = module(&bi.Main)
	for _, d := range bi.Deps {
		f.Deps = append(f.Deps, module(d))
	}
	for _, s := range bi.Settings {
		f.Settings = append(f.Settings, Setting{s.Key, s.Value})
		switch {
		case s.Key == "GOOS":
			f.GOOS = s.Value
		case s.Key == "GOARCH":
			f.GOARCH = s.Value
		case s.Key == "-race" && s.Value == "true":
			f.Race = true
		}
	}
}

func module(m *debug.Module) Module {
	out := Module{Path: m.Path, Version: m.Version, Sum: m.Sum}
	if m.Replace != nil {
		r := module(m.Replace)
		out.Replace = &r
	}
	return out
}

// Func returns the function whose code contains pc, or nil.
func (f *File) Func(pc uint64) *Func {
	if i := f.Index(pc); i >= 0 {
		return &f.Funcs[i]
	}
	return nil
}

// Index is the index in Funcs of the function whose code contains pc, or -1.
func (f *File) Index(pc uint64) int {
	i := sort.Search(len(f.Funcs), func(i int) bool { return f.Funcs[i].Entry > pc }) - 1
	if i < 0 || pc >= f.Funcs[i].End {
		return -1
	}
	return i
}
