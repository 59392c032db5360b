package executable

import (
	"debug/pe"
	"fmt"
	"io"
	"strings"
)

func newPE(r io.ReaderAt, size int64) (*image, error) {
	f, err := pe.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged PE file (%w): build or copy it again", err)
	}
	h, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, fmt.Errorf("is not a 64-bit Windows program: only those can be read")
	}
	im := &image{
		r: r, size: size, format: "PE",
		goos:     "windows",
		pie:      h.DllCharacteristics&pe.IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE != 0,
		stripped: f.NumberOfSymbols == 0,
	}
	switch f.Machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		im.goarch = "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		im.goarch = "arm64"
	default:
		return nil, fmt.Errorf("is a Windows program for machine %#x: only amd64 and arm64 can be read", f.Machine)
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") && s.Name != ".debug_gdb_scripts" || strings.HasPrefix(s.Name, ".zdebug_") {
			im.stripped = false
		}
		n := s.Size
		if s.VirtualSize != 0 {
			n = min(n, s.VirtualSize) // the rest is padding of the file
		}
		if n == 0 {
			continue
		}
		im.regions = append(im.regions, &region{
			name: s.Name, addr: h.ImageBase + uint64(s.VirtualAddress), off: uint64(s.Offset), size: uint64(n),
			exec:  s.Characteristics&pe.IMAGE_SCN_MEM_EXECUTE != 0,
			write: s.Characteristics&pe.IMAGE_SCN_MEM_WRITE != 0,
		})
	}
	return im, nil
}
