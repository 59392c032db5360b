package probe

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracerag/trace/executable"
	"tracerag/trace/probe/payload"
)

// layouts is what the recorder must know of each Go release's runtime on
// linux/amd64, as the DWARF of programs built with it has it. The word that the
// recorder uses is g.racectx, which only the race detector does.
//
// g.stack.hi, m.p's and p.id's types have not changed; p.id is the first word.
var layouts = map[int]payload.Runtime{
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
func runtimeLayout(version string, race bool) (payload.Runtime, error) {
	minor, ok := release(version)
	if !ok {
		return payload.Runtime{}, &Unsuitable{Why: "the binary does not say which Go release built it"}
	}
	l, ok := layouts[minor]
	if !ok {
		return l, &Unsuitable{Why: fmt.Sprintf("this recorder supports Go 1.21 to 1.26, and the program was built with 1.%d", minor)}
	}
	if race {
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
func checkLayout(path string, f *executable.File, l payload.Runtime) error {
	if f.Stripped {
		return nil
	}
	e, err := elf.Open(path)
	if err != nil {
		return nil // it could be read a moment ago; what the table says is valid
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
	if found, err := checkUnits(e, f, want); found {
		return err
	}
	d, err := e.DWARF()
	if err != nil {
		return nil
	}
	return compareLayout(d, f, want)
}

// checkUnits looks for the structs in each unit of a program's debug information, as
// the linker of Go writes it, up to the one that has them all, near its beginning. It
// does without the rest, most of which would have to be decompressed, and without what
// is before the structs in their unit: to read all of that takes longer than to plan
// a small program.
func checkUnits(e *elf.File, f *executable.File, want map[string]map[string]uint32) (found bool, err error) {
	info, abbrev := e.Section(".debug_info"), e.Section(".debug_abbrev")
	if info == nil || abbrev == nil {
		return false, nil // they have other names
	}
	var unit []byte
	has := func(in []byte) bool {
		for name := range want {
			if !bytes.Contains(in, append([]byte(name), 0)) {
				return false
			}
		}
		return true
	}
	const start = 128 << 10
	for r := info.Open(); ; {
		// A unit begins with its length.
		unit = slices.Grow(unit[:0], 4)[:4]
		if _, err := io.ReadFull(r, unit); err != nil {
			return false, nil
		}
		n := int64(binary.LittleEndian.Uint32(unit))
		if n >= 0xffff_fff0 || n > int64(info.Size) {
			return false, nil // units of the other, wider form
		}
		unit = slices.Grow(unit, int(n))[:4+n]
		read := unit[:4+min(n, start)]
		if _, err := io.ReadFull(r, read[4:]); err != nil {
			return false, nil
		}
		if n > start && has(read[:start/2]) { // what they have is in the other half, at the latest
			unit = read
			binary.LittleEndian.PutUint32(unit, start)
		} else if _, err := io.ReadFull(r, unit[len(read):]); err != nil {
			return false, nil
		}
		if !has(unit) {
			continue
		}
		forms, err := abbrev.Data()
		if err != nil {
			return false, nil
		}
		d, err := dwarf.New(forms, nil, nil, unit, nil, nil, nil, nil)
		if err != nil {
			return false, nil
		}
		var structs []*dwarf.Reader
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if at := findStruct(d, unit, name); at != nil {
				structs = append(structs, at)
			}
		}
		if len(structs) < len(want) {
			continue
		}
		for i, name := range slices.Sorted(maps.Keys(want)) {
			if err := compareFields(structs[i], f, name, want[name]); err != nil {
				return true, err
			}
		}
		return true, nil
	}
}

// findStruct finds a struct by its name, which is the first of what an entry has: the
// entry begins with one or two bytes before it. It returns what reads the fields, nil if
// there is no such struct.
func findStruct(d *dwarf.Data, unit []byte, name string) *dwarf.Reader {
	text := append([]byte(name), 0)
	for from := 0; ; from++ {
		i := bytes.Index(unit[from:], text)
		if i < 0 {
			return nil
		}
		from += i
		for _, at := range []int{from - 1, from - 2} {
			r := d.Reader()
			r.Seek(dwarf.Offset(at))
			if e, err := r.Next(); err == nil && e != nil && e.Tag == dwarf.TagStructType && e.Children && e.Val(dwarf.AttrName) == name {
				return r
			}
		}
	}
}

// compareFields compares the offsets of a struct's fields, which r reads.
func compareFields(r *dwarf.Reader, f *executable.File, name string, fields map[string]uint32) error {
	for {
		m, err := r.Next()
		if err != nil || m == nil || m.Tag == 0 {
			return nil
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
}

// compareLayout compares the offsets of fields, by struct, with those in the debug
// information, and removes the structs that it has found.
func compareLayout(d *dwarf.Data, f *executable.File, want map[string]map[string]uint32) error {
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
		if e.Children {
			if err := compareFields(r, f, name, fields); err != nil {
				return err
			}
		}
		delete(want, name)
	}
	return nil
}
