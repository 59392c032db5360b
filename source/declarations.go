package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"tracerag/parallel"
)

// Functions yields the texts of the functions, with their doc comments, that are
// declared in the modules of the given packages (import paths), as long as their
// files together are no larger than limit bytes: the main module's first. It is
// for counting words, so the texts are cut out of the files by their lines and
// not parsed; what gofmt did not lay out may be cut in the wrong place.
func (r *Resolver) Functions(packages []string, limit int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range r.Modules(packages, limit) {
			for text := range m.Functions {
				if !yield(text) {
					return
				}
			}
		}
	}
}

// ModuleFiles are the Go files of a module on disk, tests left out.
type ModuleFiles struct {
	// ID tells these files, as they are, from all others and from themselves after a
	// change: it has their paths, sizes and times. "" if a change might have the same,
	// because it would be too soon after the last one or the system does not say.
	ID    string
	files []string
}

// Functions yields the texts of the functions in the files: see [Resolver.Functions].
func (m ModuleFiles) Functions(yield func(string) bool) {
	for _, file := range m.files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for text := range functionsOf(string(data)) {
			if !yield(text) {
				return
			}
		}
	}
}

// Modules returns the files that [Resolver.Functions] reads, by module.
func (r *Resolver) Modules(packages []string, limit int64) []ModuleFiles {
	var dirs []string
	for i, m := range r.places.modules {
		if slices.ContainsFunc(packages, func(p string) bool { return inTree(p, m.Path) }) {
			if dir := r.places.moduleDir(i); dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	out, sizes := make([]ModuleFiles, len(dirs)), make([]int64, len(dirs))
	var listed atomic.Int64
	parallel.Do(len(dirs), func(i int) {
		sizes[i] = -1
		if listed.Load() <= limit { // else it is most likely behind the last one
			out[i], sizes[i] = moduleFiles(dirs[i], limit)
			listed.Add(sizes[i])
		}
	})
	left := limit
	for i, dir := range dirs {
		if sizes[i] < 0 || sizes[i] > left {
			out[i], sizes[i] = moduleFiles(dir, left)
		}
		if left -= sizes[i]; left < 0 {
			return out[:i+1]
		}
	}
	return out
}

// moduleFiles lists the files of a module, as long as they have no more than limit bytes
// together, and returns how many they have; more than limit if that was not all.
func moduleFiles(dir string, limit int64) (files ModuleFiles, size int64) {
	sum, known := sha256.New(), true
	for file := range goFiles(dir) {
		info, err := os.Stat(file)
		if err != nil || info.Size() > maxFile {
			continue
		}
		if size += info.Size(); size > limit {
			break
		}
		files.files = append(files.files, file)
		stamp, ok := stampOf(info)
		known = known && ok
		fmt.Fprintf(sum, "%q %s\n", file, stamp)
	}
	if known {
		files.ID = hex.EncodeToString(sum.Sum(nil))
	}
	return files, size
}

// functionsOf yields the functions of a file that gofmt has laid out: from a
// line that begins with "func ", and the comment lines right above it, to the
// line that is a closing brace.
func functionsOf(file string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1 // of the comment or the function
		inside := false
		for at := 0; at < len(file); {
			line := file[at:]
			if i := strings.IndexByte(line, '\n'); i >= 0 {
				line = line[:i+1]
			}
			next := at + len(line)
			text := strings.TrimRight(line, " \t\r\n")
			ends := false
			switch {
			case inside:
				ends = text == "}"
			case strings.HasPrefix(text, "func "):
				if start < 0 {
					start = at
				}
				inside = true
				ends = strings.HasSuffix(text, "}") // on one line
			case strings.HasPrefix(text, "//"):
				if start < 0 {
					start = at
				}
			default:
				start = -1
			}
			if ends {
				if !yield(file[start:next]) {
					return
				}
				start, inside = -1, false
			}
			at = next
		}
	}
}
