package probe

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	program "tracerag/trace/binary"
	"tracerag/trace/probe/machine"
)

// layouts is what the recorder must know of each Go release's runtime on
// linux/amd64, as the DWARF of programs built with it has it. The word that the
// recorder uses is g.racectx, which only the race detector does.
//
// g.stack.hi, m.p's and p.id's types have not changed; p.id is the first word.
var layouts = map[int]machine.Runtime{
	21: {GoID: 152, GoPC: 280, State: 304, M: 48, P: 208},
	22: {GoID: 152, GoPC: 280, State: 304, M: 48, P: 208},
	23: {GoID: 160, GoPC: 288, State: 312, M: 48, P: 208},
	24: {GoID: 160, GoPC: 288, State: 312, M: 48, P: 208},
	25: {GoID: 152, GoPC: 280, State: 304, M: 48, P: 200},
	26: {GoID: 152, GoPC: 288, State: 312, M: 48, P: 208},
}

// raceState is another free word of g, for programs that are built with the race
// detector: g.valgrindStackID.
var raceState = map[int]uint32{25: 432, 26: 448}

// runtimeLayout returns the layout of the target's runtime, or why it is not
// known.
func runtimeLayout(f *program.File) (machine.Runtime, error) {
	minor, ok := release(f.GoVersion)
	if !ok {
		return machine.Runtime{}, &Unsuitable{Why: "the binary does not say which Go release built it"}
	}
	l, ok := layouts[minor]
	if !ok {
		return l, &Unsuitable{Why: fmt.Sprintf("Go 1.%d's runtime is not known to this recorder (1.21 to 1.26 are)", minor)}
	}
	if f.Race {
		if l.State, ok = raceState[minor]; !ok {
			return l, &Unsuitable{Why: fmt.Sprintf("the race detector of Go 1.%d uses the word that this recorder needs", minor)}
		}
	}
	return l, nil
}

// release returns the minor number of a Go version: 26 of "go1.26.1", also of
// "go1.26rc1" and "devel go1.26-abc123".
func release(version string) (minor int, ok bool) {
	_, rest, ok := strings.Cut(version, "go1.")
	if !ok {
		return 0, false
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	minor, err := strconv.Atoi(rest[:end])
	return minor, err == nil
}

// checkLayout compares a layout with the program's DWARF, where it has one: a
// toolchain of somebody's own may have changed the runtime's structs.
func checkLayout(path string, f *program.File, l machine.Runtime) error {
	if f.Stripped {
		return nil
	}
	e, err := elf.Open(path)
	if err != nil {
		return nil // it could be read a moment ago; what the table says stands
	}
	defer e.Close()
	state := "racectx"
	if f.Race {
		state = "valgrindStackID"
	}
	want := map[string]map[string]uint32{
		"runtime.g": {"stack": 0, "m": l.M, "goid": l.GoID, "gopc": l.GoPC, state: l.State},
		"runtime.m": {"p": l.P},
		"runtime.p": {"id": l.ID},
	}
	// Most of the debug information need not be decompressed, which is half of
	// the time that a small program's plan takes.
	for _, whole := range []bool{false, true} {
		d, err := debugInfo(e, want, whole)
		if err != nil {
			return nil
		}
		if err := compareLayout(d, f, want); err != nil || len(want) == 0 {
			return err
		}
	}
	return nil
}

// debugInfo reads a program's debug information: all of it, or up to the unit that
// has the types with these names.
func debugInfo(e *elf.File, types map[string]map[string]uint32, whole bool) (*dwarf.Data, error) {
	section := func(name string) []byte {
		if s := e.Section(name); s != nil {
			if b, err := s.Data(); err == nil {
				return b
			}
		}
		return nil
	}
	s := e.Section(".debug_info")
	if s == nil {
		return e.DWARF() // has other names for it
	}
	// A unit begins with its length.
	var info []byte
	for r := s.Open(); ; {
		head := make([]byte, 4)
		if _, err := io.ReadFull(r, head); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(head))
		if n >= 0xffff_fff0 || n > int64(s.Size) {
			return e.DWARF() // units of the other, wider form
		}
		from := len(info)
		info = append(info, head...)
		info = slices.Grow(info, int(n))[:from+4+int(n)]
		if _, err := io.ReadFull(r, info[from+4:]); err != nil {
			return nil, err
		}
		has := 0
		for name := range types {
			if bytes.Contains(info[from:], append([]byte(name), 0)) {
				has++
			}
		}
		if has == len(types) && !whole {
			break
		}
	}
	d, err := dwarf.New(section(".debug_abbrev"), nil, nil, info, nil, nil, nil, section(".debug_str"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{".debug_addr", ".debug_str_offsets", ".debug_line_str"} {
		if b := section(name); b != nil {
			if err := d.AddSection(name, b); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// compareLayout compares the offsets of fields, by struct, with those in the debug
// information, and removes the structs that it has found.
func compareLayout(d *dwarf.Data, f *program.File, want map[string]map[string]uint32) error {
	for r := d.Reader(); len(want) > 0; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		switch {
		case e.Tag == dwarf.TagCompileUnit:
			if name != "runtime" {
				r.SkipChildren()
			}
			continue
		case e.Tag != dwarf.TagStructType:
			if e.Tag == dwarf.TagSubprogram {
				r.SkipChildren()
			}
			continue
		}
		fields, ok := want[name]
		if !ok {
			r.SkipChildren()
			continue
		}
		for e.Children {
			m, err := r.Next()
			if err != nil || m == nil || m.Tag == 0 {
				break
			}
			field, _ := m.Val(dwarf.AttrName).(string)
			at, ok := m.Val(dwarf.AttrDataMemberLoc).(int64)
			if off, known := fields[field]; known && ok && int64(off) != at {
				return &Unsuitable{Why: fmt.Sprintf("its runtime is not that of %s: %s.%s is at offset %d, not %d", f.GoVersion, name, field, at, off)}
			}
			if m.Children {
				r.SkipChildren()
			}
		}
		delete(want, name)
	}
	return nil
}
