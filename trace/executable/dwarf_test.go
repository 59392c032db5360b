package executable

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// DWARF is the second witness: the compiler writes it apart from the pclntab,
// and it says where functions start and which pcs belong to an inlined call.
func TestAgreesWithDWARF(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && arch != runtime.GOARCH {
				t.Skip("compiles a part of the standard library")
			}
			path := build(t, "zoo", "GOOS=linux GOARCH="+arch)
			f := mustOpen(t, path)
			e, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			d, err := e.DWARF()
			if err != nil {
				t.Fatal(err)
			}
			funcs := readDWARF(t, d)
			calls := 0
			for i := range f.Funcs {
				fn := &f.Funcs[i]
				w, ok := funcs[fn.Entry]
				if !ok {
					continue // assembly, or generated
				}
				delete(funcs, fn.Entry)
				if fn.Name != w.name || w.line != 0 && !fn.Wrapper && (fn.StartLine != w.line || w.file != "" && fn.File != w.file) {
					t.Errorf("%#x: got %s at %s:%d, DWARF has %s at %s:%d", fn.Entry, fn.Name, fn.File, fn.StartLine, w.name, w.file, w.line)
				}
				var got []string
				for j, c := range f.Inlined(fn) {
					got = append(got, inlinedString(c.Name, c.CallLine, c.Ranges))
					checkInlined(t, f, fn, f.Inlined(fn), j)
				}
				calls += len(got)
				slices.Sort(got)
				slices.Sort(w.inlined)
				if g, w := strings.Join(got, "\n"), strings.Join(w.inlined, "\n"); g != w {
					t.Errorf("calls inlined into %s:\ngot\n%s\nDWARF\n%s", fn.Name, g, w)
				}
			}
			for entry, w := range funcs {
				t.Errorf("DWARF has %s at %#x, Funcs has not", w.name, entry)
			}
			if calls < 1000 {
				t.Errorf("only %d inlined calls were compared", calls)
			}
		})
	}
}

// checkInlined holds an inlined call against what Frames says of its pcs, and
// against the call that it is in.
func checkInlined(t *testing.T, f *File, fn *Func, calls []InlinedCall, j int) {
	t.Helper()
	c := calls[j]
	if c.Parent >= j {
		t.Errorf("%s: call %d (%s) stands before its parent %d", fn.Name, j, c.Name, c.Parent)
		return
	}
	covered := func(pc uint64, rs [][2]uint64) bool {
		return slices.ContainsFunc(rs, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
	}
	for i, r := range c.Ranges {
		if r[0] >= r[1] || i > 0 && r[0] <= c.Ranges[i-1][1] || r[0] < fn.Entry || r[1] > fn.End {
			t.Errorf("%s: %s has ranges %#x", fn.Name, c.Name, c.Ranges)
		}
		if c.Parent >= 0 && (!covered(r[0], calls[c.Parent].Ranges) || !covered(r[1]-1, calls[c.Parent].Ranges)) {
			t.Errorf("%s: %s has ranges %#x, its parent %#x", fn.Name, c.Name, c.Ranges, calls[c.Parent].Ranges)
		}
		found := slices.ContainsFunc(f.Frames(r[0]), func(fr Frame) bool {
			return fr.Inlined && fr.Name == c.Name && fr.StartLine == c.StartLine && fr.Package == c.Package
		})
		if !found {
			t.Errorf("%s: no frame of %s at %#x", fn.Name, c.Name, r[0])
		}
	}
}

type dwarfFunc struct {
	name    string
	file    string
	line    int
	inlined []string
}

func readDWARF(t *testing.T, d *dwarf.Data) map[uint64]*dwarfFunc {
	names, lines, files := map[dwarf.Offset]string{}, map[dwarf.Offset]int{}, map[dwarf.Offset]string{}
	each := func(visit func(*dwarf.Entry)) {
		r := d.Reader()
		for {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				return
			}
			visit(e)
		}
	}
	var unit []*dwarf.LineFile
	each(func(e *dwarf.Entry) {
		if e.Tag == dwarf.TagCompileUnit {
			unit = nil
			if lr, err := d.LineReader(e); err == nil && lr != nil {
				unit = lr.Files()
			}
		}
		if n, ok := e.Val(dwarf.AttrName).(string); ok && e.Tag == dwarf.TagSubprogram {
			names[e.Offset] = n
			if l, ok := e.Val(dwarf.AttrDeclLine).(int64); ok {
				lines[e.Offset] = int(l)
			}
			if i, ok := e.Val(dwarf.AttrDeclFile).(int64); ok && i < int64(len(unit)) && unit[i] != nil {
				files[e.Offset] = unit[i].Name
			}
		}
	})
	funcs := map[uint64]*dwarfFunc{}
	var in *dwarfFunc
	each(func(e *dwarf.Entry) {
		at := e.Offset
		if o, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
			at = o
		}
		switch e.Tag {
		case dwarf.TagSubprogram:
			if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
				in = &dwarfFunc{name: names[at], file: files[at], line: lines[at]}
				funcs[low] = in
			}
		case dwarf.TagInlinedSubroutine:
			rs, err := d.Ranges(e)
			if err != nil {
				t.Fatal(err)
			}
			if rs = merged(rs); len(rs) > 0 {
				line, _ := e.Val(dwarf.AttrCallLine).(int64)
				in.inlined = append(in.inlined, inlinedString(names[at], int(line), rs))
			}
		}
	})
	return funcs
}

func merged(rs [][2]uint64) (out [][2]uint64) {
	slices.SortFunc(rs, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range rs {
		if n := len(out); n > 0 && r[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], r[1])
		} else if r[0] < r[1] {
			out = append(out, r)
		}
	}
	return out
}

func inlinedString(name string, callLine int, rs [][2]uint64) string {
	return fmt.Sprintf("%#x %s, called at %d", rs, name, callLine)
}
