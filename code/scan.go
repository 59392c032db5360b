package code

import "time"

// Listing is what a directory holds, found without reading its Go files.
type Listing struct {
	Root    string // absolute, symbolic links followed
	Modules []Module
	Files   []Entry // by path
}

// Module is a module whose go.mod is below the root.
type Module struct {
	Path string // "example.com/app"
	Dir  string // slash path below the root; "." is the root
	// Replaced are the modules that a replace directive takes from a
	// directory below the root: module path to slash path below the root.
	Replaced map[string]string
	Required []string // module paths
	Go       string   // language version, "1.26"
}

// Entry is a Go file of a listing.
type Entry struct {
	Path    string // slash path below the root
	Module  int    // index into Modules; -1 outside of all
	Package string // import path by its directory; of files outside of all modules the directory's path
	Size    int64
	Time    time.Time
	Class
}

// Class is what a file's path tells of it.
type Class struct {
	Test     bool // _test.go
	Vendored bool // below a directory "vendor" that is beside a go.mod
	Testdata bool // below a directory "testdata", or one whose name begins with "." or "_"
	Ignored  bool // by .gitignore; listed only when asked for
	// Platform is the constraint that the name implies ("linux", "windows,amd64"); "" none.
	Platform string
}
