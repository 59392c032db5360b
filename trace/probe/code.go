package probe

import (
	"debug/elf"
	"encoding/binary"
)

// code reads the program's code from its file, when it is first asked to.
type code struct {
	path  string
	addr  uint64
	bytes []byte
	tried bool
}

func (c *code) load() {
	c.tried = true
	f, err := elf.Open(c.path)
	if err != nil {
		return
	}
	defer f.Close()
	if s := f.Section(".text"); s != nil {
		if b, err := s.Data(); err == nil {
			c.addr, c.bytes = s.Addr, b
		}
	}
}

// callee returns the link-time address of the function that the direct call
// before this return address calls; 0 if it is not a direct call.
func (c *code) callee(pc uint64) uint64 {
	const size = 5 // opcode and displacement
	if !c.tried {
		c.load()
	}
	if pc < c.addr+size || pc-c.addr > uint64(len(c.bytes)) {
		return 0
	}
	b := c.bytes[pc-c.addr-size:]
	if b[0] != 0xe8 {
		return 0
	}
	return pc + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
}
