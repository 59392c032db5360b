package rows

import (
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// Bits of a file's class.
const (
	bitTest = 1 << iota
	bitVendored
	bitTestdata
	bitIgnored
	bitGenerated
	bitTooLarge
)

// ClassBits is a file's class as a row has it; bitsClass is the other way.
func ClassBits(c code.Class, generated bool) int {
	n := 0
	for i, b := range []bool{c.Test, c.Vendored, c.Testdata, c.Ignored, generated, c.TooLarge} {
		if b {
			n |= 1 << i
		}
	}
	return n
}

// bitsClass is the class of a row.
func bitsClass(n int, platform string) (c code.Class, generated bool) {
	return code.Class{Test: n&bitTest != 0, Vendored: n&bitVendored != 0, Testdata: n&bitTestdata != 0,
		Ignored: n&bitIgnored != 0, TooLarge: n&bitTooLarge != 0, Platform: platform}, n&bitGenerated != 0
}

// SelectFiles begins the query of what [ReadFiles] reads: a condition for f, a file, follows, and then [FileOrder].
const SelectFiles = "SELECT f.id, f.repository, f.path, f.directory, f.module, f.clause, f.class, f.platform, f.build, f.broken, f.imports, f.problem, f.size, f.mtime, f.hash FROM file f WHERE "

// FileOrder is the order of files by their places.
const FileOrder = " ORDER BY f.repository, f.path"

// ReadFiles reads files, by [SelectFiles].
func ReadFiles(q Query) ([]knowledge.File, error) {
	return All(q, func(scan Scan) (f knowledge.File, err error) {
		var class int
		var mtime int64
		var platform, imports string
		var hash []byte
		err = scan(&f.ID, &f.Repository, &f.Path, &f.Entry.Package, &f.Module, &f.PackageName, &class, &platform, &f.Constraint, &f.Broken, &imports, &f.Problem, &f.Size, &mtime, &hash)
		f.Class, f.Generated = bitsClass(class, platform)
		f.Time = instant(mtime)
		if imports != "" {
			f.Imports = strings.Split(imports, "\n")
		}
		copy(f.Hash[:], hash)
		return f, err
	})
}

// ReadProduct reads the files of the program, by [SelectFiles].
func ReadProduct(q Query) ([]knowledge.File, error) {
	list, err := ReadFiles(q)
	return slices.DeleteFunc(list, func(f knowledge.File) bool { return !f.Product() }), err
}

// SelectStored is the query of what [ReadStored] reads, of the repository $1.
const SelectStored = "SELECT path, directory, module, class, platform, size, mtime, hash, blob, calls, problem FROM file WHERE repository = $1 ORDER BY path"

// ReadStored reads files as an update compares them, by [SelectStored].
func ReadStored(q Query) ([]knowledge.Stored, error) {
	return All(q, func(scan Scan) (f knowledge.Stored, err error) {
		var class int
		var platform string
		var mtime int64
		var hash, blob, calls []byte
		err = scan(&f.Path, &f.Package, &f.Module, &class, &platform, &f.Size, &mtime, &hash, &blob, &calls, &f.Problem)
		f.Class, _ = bitsClass(class, platform)
		f.Time = instant(mtime)
		copy(f.Hash[:], hash)
		copy(f.Blob[:], blob)
		copy(f.Calls[:], calls)
		return f, err
	})
}

// SelectPlaces is the query of the paths of all files, and of their packages.
const SelectPlaces = "SELECT f.path, p.path FROM file f JOIN package p ON p.id = f.package"

// Holds reports whether one of the places, by [SelectPlaces], is in a pattern.
func Holds(places Query, pattern string) (holds bool, err error) {
	err = places.Each(func(scan Scan) error {
		var file, pkg string
		err := scan(&file, &pkg)
		holds = holds || knowledge.Within(pattern, file, pkg)
		return err
	})
	return holds, err
}

// ReadHashes reads hashes by their files (id, hash).
func ReadHashes(q Query) (map[int64]code.Hash, error) {
	hashes := map[int64]code.Hash{}
	err := q.Each(func(scan Scan) error {
		var id int64
		var b []byte
		err := scan(&id, &b)
		var h code.Hash
		copy(h[:], b)
		hashes[id] = h
		return err
	})
	return hashes, err
}

// Files returns those of some files whose path is one of the given, or ends in "/" and it. [Bases] are
// the last elements of these paths, by which a store finds candidates.
func Files(list []knowledge.File, paths []string) []knowledge.File {
	asked := map[string][]string{} // by base: hundreds of files have one name
	for i, base := range Bases(paths) {
		asked[base] = append(asked[base], paths[i])
	}
	return slices.DeleteFunc(list, func(f knowledge.File) bool {
		return !slices.ContainsFunc(asked[f.Path[strings.LastIndexByte(f.Path, '/')+1:]], func(p string) bool {
			before, ok := strings.CutSuffix(f.Path, p)
			return ok && (before == "" || before[len(before)-1] == '/')
		})
	})
}

// Bases returns the last elements of paths.
func Bases(paths []string) []string {
	bases := make([]string, len(paths))
	for i, p := range paths {
		bases[i] = p[strings.LastIndexByte(p, '/')+1:]
	}
	return bases
}
