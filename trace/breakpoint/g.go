package breakpoint

import (
	"encoding/binary"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
)

// gLayout is where the fields of the runtime's g struct lie that say which
// goroutine it is and which go statement made it.
type gLayout struct{ goid, gopc uint64 }

// gLayouts is for binaries without DWARF, by Go release; read from the DWARF of
// programs built with each (amd64 and arm64 agree).
var gLayouts = map[string]gLayout{
	"1.21": {152, 280},
	"1.22": {152, 280},
	"1.23": {160, 288},
	"1.24": {160, 288},
	"1.25": {152, 280},
	"1.26": {152, 288},
}

// rawGoroutine reads the current goroutine's number and the pc of its go
// statement without DWARF, through the register that holds g in Go code. It
// returns 0 for a release whose layout is not known.
func (r *recording) rawGoroutine(th proc.Thread, regs proc.Registers) (id int64, gopc uint64) {
	version := strings.TrimPrefix(r.t.Binary.GoVersion, "go")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, 0
	}
	layout, ok := gLayouts[parts[0]+"."+minor(parts[1])]
	if !ok {
		return 0, 0
	}
	g, ok := gRegister(r.t.Binary.GOARCH, regs)
	if !ok || g == 0 {
		return 0, 0
	}
	var buf [8]byte
	read := func(off uint64) uint64 {
		if n, err := th.ProcessMemory().ReadMemory(buf[:], g+off); err != nil || n != len(buf) {
			return 0
		}
		return binary.LittleEndian.Uint64(buf[:])
	}
	return int64(read(layout.goid)), read(layout.gopc)
}

// minor cuts what follows the number of a release: "27rc1", "26-custom".
func minor(s string) string {
	for i, c := range s {
		if c < '0' || c > '9' {
			return s[:i]
		}
	}
	return s
}

// gRegister returns the register that holds g, by Go's internal calling
// convention.
func gRegister(goarch string, regs proc.Registers) (uint64, bool) {
	if g, ok := regs.GAddr(); ok {
		return g, true
	}
	name := map[string]string{"amd64": "R14", "arm64": "X28"}[goarch]
	if name == "" {
		return 0, false
	}
	slice, err := regs.Slice(false)
	if err != nil {
		return 0, false
	}
	for _, reg := range slice {
		if strings.EqualFold(reg.Name, name) && reg.Reg != nil {
			return reg.Reg.Uint64Val, true
		}
	}
	return 0, false
}
