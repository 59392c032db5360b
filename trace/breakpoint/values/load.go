package values

import (
	"debug/dwarf"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace/notation"
)

// overlay is the program's memory with one value put at an address that no
// program has: so a value that is in registers is read as one in memory.
type overlay struct {
	proc.MemoryReadWriter
	data []byte
}

const overlayBase = 0x7eed_0000_0000_0000 // not canonical: bits above the 57th

func (o overlay) ReadMemory(buf []byte, addr uint64) (int, error) {
	if addr < overlayBase || addr > overlayBase+uint64(len(o.data)) {
		return o.MemoryReadWriter.ReadMemory(buf, addr)
	}
	return copy(buf, o.data[addr-overlayBase:]), nil
}

// text writes a value of which data is the memory. unread says why it could not.
func (m *moment) text(typ godwarf.Type, data []byte) (text string, cut bool, unread string) {
	v, err := m.load(typ, data)
	if err != nil || v.Unreadable != nil {
		return "", false, "not readable"
	}
	c := converter{overlay{m.mem, data}}
	n := c.value(v)
	text, cut = notation.Write(&n, m.r.Mask)
	return text, cut, ""
}

// load has delve lay the value out.
func (m *moment) load(typ godwarf.Type, data []byte) (*proc.Variable, error) {
	if p, ok := typ.(*godwarf.ParametricType); ok {
		typ = p.Type
	}
	if m.scope == nil {
		scope, err := proc.ThreadScope(m.r.tgt, m.f.Thread)
		if err != nil {
			return nil, err
		}
		m.scope = scope
	}
	m.scope.Mem = overlay{m.mem, data}
	cfg := proc.LoadConfig{
		FollowPointers: true, MaxVariableRecurse: notation.MaxDepth,
		MaxStringLen: notation.MaxString, MaxArrayValues: notation.MaxElements + 1, MaxStructFields: notation.MaxElements + 1,
	}
	eval := func() (*proc.Variable, error) {
		return m.scope.EvalExpression(fmt.Sprintf("*(*%q)(%#x)", fullName(typ), uint64(overlayBase)), cfg)
	}
	if risk := look(typ); risk == endless {
		cfg.MaxArrayValues = 0
	} else if risk == dynamic {
		// What the interfaces of one level hold is known before it is followed.
		for cfg.MaxVariableRecurse = -1; cfg.MaxVariableRecurse < notation.MaxDepth; cfg.MaxVariableRecurse++ {
			if v, err := eval(); err != nil {
				return nil, err
			} else if holdsEndless(v) {
				cfg.MaxArrayValues, cfg.MaxVariableRecurse = 0, notation.MaxDepth
				break
			}
		}
	}
	v, err := eval()
	if err != nil {
		return nil, err
	}
	// Types are found by name. A name may be another type's, too.
	if at := definition(v.DwarfType); at != 0 && at != definition(typ) {
		return nil, fmt.Errorf("there are several types %s", fullName(typ))
	}
	return v, nil
}

// risk is how delve could read a value without end. It counts the levels of structs and maps, but follows lists to any
// depth. A list that is its own element would fill the stack, which ends this process.
type risk uint8

const (
	harmless risk = iota
	dynamic       // interfaces may hold values of endless types
	endless       // there is a list that may be its own element, as of "type T []T"
)

func look(t godwarf.Type) risk { return lookAt(t, map[godwarf.Type]bool{}, nil) }

// lookAt is look for a type within others. seen are all that were looked at, within those since the last struct or map.
func lookAt(t godwarf.Type, seen map[godwarf.Type]bool, within []godwarf.Type) risk {
	if slices.Contains(within, t) {
		return endless
	}
	if seen[t] {
		return harmless
	}
	seen[t] = true
	within = append(within, t)
	switch t := t.(type) {
	case *godwarf.InterfaceType:
		return dynamic
	case *godwarf.TypedefType:
		return lookAt(t.Type, seen, within)
	case *godwarf.ParametricType:
		return lookAt(t.Type, seen, within)
	case *godwarf.PtrType:
		return lookAt(t.Type, seen, within)
	case *godwarf.ArrayType:
		return lookAt(t.Type, seen, within)
	case *godwarf.SliceType:
		return lookAt(t.ElemType, seen, within)
	case *godwarf.StructType:
		most := harmless
		for _, f := range t.Field {
			most = max(most, lookAt(f.Type, seen, nil))
		}
		return most
	case *godwarf.MapType:
		return max(lookAt(t.KeyType, seen, nil), lookAt(t.ElemType, seen, nil))
	}
	return harmless
}

// holdsEndless reports whether an interface in what was read holds a value of an endless type.
func holdsEndless(v *proc.Variable) bool {
	if v.Kind == reflect.Interface && len(v.Children) > 0 && v.Children[0].DwarfType != nil && look(v.Children[0].DwarfType) == endless {
		return true
	}
	for i := range v.Children {
		if holdsEndless(&v.Children[i]) {
			return true
		}
	}
	return false
}

// definition is where DWARF defines a type: not that of the typedef of the same name
// that some types have; 0 for an array type, which delve makes.
func definition(t godwarf.Type) dwarf.Offset {
	for {
		def, ok := t.(*godwarf.TypedefType)
		if !ok {
			return t.Common().Offset
		}
		t = def.Type
	}
}
