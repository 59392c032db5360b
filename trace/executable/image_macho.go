package executable

import (
	"debug/macho"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// newUniversal picks one program out of a universal ("fat") file: the one for
// this machine, else the first.
func newUniversal(r io.ReaderAt, size int64) (*image, error) {
	fat, err := macho.NewFatFile(r)
	if err != nil {
		return nil, fmt.Errorf("is a Java class file, or a damaged universal Mach-O file (%w): name a compiled Go program", err)
	}
	want := macho.CpuAmd64
	if runtime.GOARCH == "arm64" {
		want = macho.CpuArm64
	}
	arch := fat.Arches[0]
	for _, a := range fat.Arches {
		if a.Cpu == want {
			arch = a
		}
	}
	if int64(arch.Offset)+int64(arch.Size) > size {
		return nil, fmt.Errorf("truncated universal Mach-O file: its %v part needs bytes %d to %d, the file has %d: build or copy it again",
			arch.Cpu, arch.Offset, int64(arch.Offset)+int64(arch.Size), size)
	}
	return newMachO(io.NewSectionReader(r, int64(arch.Offset), int64(arch.Size)), int64(arch.Size))
}

func newMachO(r io.ReaderAt, size int64) (*image, error) {
	f, err := macho.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged Mach-O file (%w): build or copy it again", err)
	}
	if f.Type == macho.TypeObj {
		return nil, fmt.Errorf("is an object file, not a program: link it with go build")
	}
	im := &image{
		r: r, size: size, format: "Mach-O",
		goos:     "darwin",
		pie:      f.Flags&macho.FlagPIE != 0,
		stripped: true,
	}
	switch f.Cpu {
	case macho.CpuAmd64:
		im.goarch = "amd64"
	case macho.CpuArm64:
		im.goarch = "arm64"
	default:
		return nil, fmt.Errorf("is a Mach-O file for %v: only amd64 and arm64 can be read", f.Cpu)
	}
	for _, s := range f.Sections {
		if s.Seg == "__DWARF" {
			im.stripped = false
			continue
		}
		const zeroFill, gbZeroFill, threadZeroFill = 1, 12, 18
		if t := s.Flags & 0xff; t == zeroFill || t == gbZeroFill || t == threadZeroFill || s.Size == 0 {
			continue
		}
		im.regions = append(im.regions, &region{
			name: s.Name, addr: s.Addr, off: uint64(s.Offset), size: s.Size,
			exec:  s.Seg == "__TEXT" && s.Name == "__text",
			write: strings.HasPrefix(s.Seg, "__DATA"),
		})
	}
	if f.Symtab != nil {
		for _, s := range f.Symtab.Syms {
			if s.Sect != 0 { // defined here, not imported
				im.stripped = false
				break
			}
		}
	}
	// Apple's linker stores pointers as links of a chain that the loader
	// follows: the low 36 bits are the address, or its distance from the
	// start of the image; the high bits are not part of it.
	const chainedFixups = 0x80000034
	text := f.Segment("__TEXT")
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) < 4 || le.Uint32(raw) != chainedFixups || text == nil {
			continue
		}
		base := text.Addr
		im.pointer = func(v uint64) uint64 {
			if v>>63 != 0 {
				return 0 // bound to another library
			}
			if v &= 1<<36 - 1; v < base {
				v += base
			}
			return v
		}
	}
	return im, nil
}
