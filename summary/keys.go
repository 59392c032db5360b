package summary

import (
	"crypto/sha256"
	"encoding/binary"

	"tracerag/code"
	"tracerag/knowledge"
)

// hasher makes a key. Each part has its length before it.
type hasher []byte

func (h *hasher) add(part string) {
	*h = append(binary.AppendUvarint(*h, uint64(len(part))), part...)
}

func (h *hasher) key(level knowledge.Level) knowledge.SummaryKey {
	sum := sha256.Sum256(*h)
	k := knowledge.SummaryKey{Level: level}
	copy(k.Hash[:], sum[:])
	return k
}

// declKey is of what a declaration says, and not of where it is or how it is formatted.
func declKey(d *code.Decl) knowledge.SummaryKey {
	h := hasher{byte(d.Kind)}
	h.add(d.Name)
	h.add(string(d.Tokens[:]))
	h.add(string(d.Comments[:]))
	return h.key(knowledge.DeclSummary)
}

// fileKey is of a file's package clause with its comment, and of its declarations in order.
func fileKey(packageName string, doc code.Hash, decls []Decl) knowledge.SummaryKey {
	var h hasher
	h.add(packageName)
	h.add(string(doc[:]))
	for i := range decls {
		h.add(string(decls[i].key.Hash[:]))
	}
	return h.key(knowledge.FileSummary)
}

// packageKey is of the names of a package's files, and of what they say.
func packageKey(importPath string, files []unit) knowledge.SummaryKey {
	var h hasher
	h.add(importPath)
	for i := range files {
		h.add(files[i].Path)
		h.add(string(files[i].key.Hash[:]))
	}
	return h.key(knowledge.PackageSummary)
}

func repositoryKey(packages []pkg) knowledge.SummaryKey {
	var h hasher
	for i := range packages {
		h.add(packages[i].ImportPath)
		h.add(string(packages[i].key.Hash[:]))
	}
	return h.key(knowledge.RepositorySummary)
}
