package executable

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

func newELF(r io.ReaderAt, size int64) (*image, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged ELF file (%w): build or copy it again", err)
	}
	switch f.Type {
	case elf.ET_EXEC, elf.ET_DYN:
	case elf.ET_CORE:
		return nil, fmt.Errorf("is a core dump: name the program that dumped it")
	default:
		return nil, fmt.Errorf("is an object file (%v), not a program: link it with go build", f.Type)
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("is an ELF file for a machine that is not 64-bit little-endian (%v): only those can be read", f.Machine)
	}
	im := &image{
		r: r, size: size, format: "ELF",
		goos:     "linux",
		goarch:   strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_")),
		pie:      f.Type == elf.ET_DYN,
		stripped: true,
	}
	switch f.Machine {
	case elf.EM_X86_64:
		im.goarch = "amd64"
	case elf.EM_AARCH64:
		im.goarch = "arm64"
	}
	switch f.OSABI {
	case elf.ELFOSABI_FREEBSD:
		im.goos = "freebsd"
	case elf.ELFOSABI_NETBSD:
		im.goos = "netbsd"
	case elf.ELFOSABI_OPENBSD:
		im.goos = "openbsd"
	case elf.ELFOSABI_SOLARIS:
		im.goos = "solaris"
	}
	var rela []*region
	for _, s := range f.Sections {
		if s.Type == elf.SHT_SYMTAB && s.Size > 0 || strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			im.stripped = false
		}
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL || s.FileSize == 0 {
			continue
		}
		g := &region{
			name: s.Name, addr: s.Addr, off: s.Offset, size: s.FileSize,
			exec:  s.Flags&elf.SHF_EXECINSTR != 0,
			write: s.Flags&elf.SHF_WRITE != 0,
		}
		im.regions = append(im.regions, g)
		if s.Type == elf.SHT_RELA {
			rela = append(rela, g)
		}
	}
	if len(im.regions) == 0 { // the section headers were stripped too
		for i, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Filesz > 0 {
				im.regions = append(im.regions, &region{
					name: fmt.Sprintf("segment %d", i), addr: p.Vaddr, off: p.Off, size: p.Filesz,
					exec:  p.Flags&elf.PF_X != 0,
					write: p.Flags&elf.PF_W != 0,
				})
			}
		}
		rela = dynamicRela(im, f)
	}
	if im.pie && len(rela) > 0 {
		im.relocs = func(yield func(at, value uint64) bool) error {
			return walkRela(im, f.Machine, rela, yield)
		}
	}
	im.readNotes(f)
	return im, nil
}

// walkRela yields the relocations "store the load address plus value". Linkers
// differ in whether they also store the value in the data itself: the Go
// linker and GNU ld do, lld and mold do not unless asked to.
func walkRela(im *image, machine elf.Machine, rela []*region, yield func(at, value uint64) bool) error {
	var relative uint32
	switch machine {
	case elf.EM_X86_64:
		relative = uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		relative = uint32(elf.R_AARCH64_RELATIVE)
	default:
		return nil
	}
	for _, r := range rela {
		d, err := im.load(r)
		if err != nil {
			return err
		}
		for ; len(d) >= 24; d = d[24:] {
			if le.Uint32(d[8:]) == relative && !yield(le.Uint64(d), le.Uint64(d[16:])) {
				return nil
			}
		}
	}
	return nil
}

// dynamicRela finds the relocations of a file without section headers, by its
// dynamic segment.
func dynamicRela(im *image, f *elf.File) []*region {
	for _, p := range f.Progs {
		if p.Type != elf.PT_DYNAMIC || p.Off > uint64(im.size) {
			continue
		}
		d := make([]byte, min(p.Filesz, 64<<10, uint64(im.size)-p.Off))
		if _, err := im.r.ReadAt(d, int64(p.Off)); err != nil {
			return nil
		}
		var addr, size uint64
		for ; len(d) >= 16; d = d[16:] {
			switch elf.DynTag(le.Uint64(d)) {
			case elf.DT_RELA:
				addr = le.Uint64(d[8:])
			case elf.DT_RELASZ:
				size = le.Uint64(d[8:])
			}
		}
		in := im.find(addr)
		if in == nil || size == 0 || size > in.size-(addr-in.addr) {
			return nil
		}
		return []*region{{name: "relocations", addr: addr, off: in.off + addr - in.addr, size: size}}
	}
	return nil
}

// readNotes takes the build IDs from the note segments.
func (im *image) readNotes(f *elf.File) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Off > uint64(im.size) {
			continue
		}
		d := make([]byte, min(p.Filesz, 64<<10, uint64(im.size)-p.Off))
		if _, err := im.r.ReadAt(d, int64(p.Off)); err != nil {
			continue
		}
		align := uint64(4)
		if p.Align == 8 {
			align = 8
		}
		for len(d) >= 12 {
			nameLen, descLen, kind := uint64(le.Uint32(d)), uint64(le.Uint32(d[4:])), le.Uint32(d[8:])
			desc := (12 + nameLen + align - 1) &^ (align - 1)
			next := (desc + descLen + align - 1) &^ (align - 1)
			if desc+descLen > uint64(len(d)) {
				break
			}
			name := string(bytes.TrimRight(d[12:12+nameLen], "\x00"))
			switch {
			case name == "Go" && kind == 4:
				im.goBuildID = string(d[desc:][:descLen])
			case name == "GNU" && kind == 3:
				im.gnuBuildID = hex.EncodeToString(d[desc:][:descLen])
			}
			d = d[min(next, uint64(len(d))):]
		}
	}
}
