package index

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// listingOf returns a hash of all that [changed] compares of files, which are in the order of their
// paths. A repository whose files are as they were is recognised by it, and no row of theirs is read:
// for kubernetes that saves half of the time.
func listingOf(files []code.Entry) code.Hash {
	s := sha256.New()
	var b []byte
	for i := range files {
		b = appendListed(b[:0], &files[i])
		s.Write(b)
	}
	return code.Hash(s.Sum(nil))
}

// listingOfStored returns the hash of the listing that files in a store were made from; the zero
// Hash if one of them must be read again whatever its time is.
func listingOfStored(files []knowledge.Stored) code.Hash {
	list := make([]code.Entry, len(files))
	for i, f := range files {
		if !f.TooLarge && (f.Problem != "" || f.Time.IsZero()) {
			return code.Hash{}
		}
		list[i] = code.Entry{Path: f.Path, Package: f.Package, Module: f.Module, Class: f.Class, Size: f.Size, Time: f.Time}
	}
	slices.SortFunc(list, func(a, b code.Entry) int { return strings.Compare(a.Path, b.Path) })
	return listingOf(list)
}

func appendListed(b []byte, e *code.Entry) []byte {
	for _, s := range []string{e.Path, e.Package, e.Platform} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	bits := byte(0)
	for i, is := range []bool{e.Test, e.Vendored, e.Testdata, e.Ignored, e.TooLarge} {
		if is {
			bits |= 1 << i
		}
	}
	b = append(b, bits)
	b = binary.AppendVarint(b, int64(e.Module))
	b = binary.AppendVarint(b, e.Size)
	if e.TooLarge {
		return b // only its size is kept
	}
	return binary.AppendVarint(b, e.Time.UnixNano())
}
