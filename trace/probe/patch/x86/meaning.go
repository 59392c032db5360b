package x86

// What some opcodes do, as far as those who plan changes ask.

// IsLoad tells if an instruction with a memory operand reads that and does
// nothing else that may fail.
func IsLoad(op int) bool {
	switch op {
	case 0x8a, 0x8b, 0x63, map0F | 0xb6, map0F | 0xb7, map0F | 0xbe, map0F | 0xbf, map0F | 0x10, map0F | 0x6f:
		return true
	}
	return false
}

// Stores tells if an instruction with a memory operand writes it and nothing else.
func Stores(op int) bool {
	switch op {
	case 0x88, 0x89, 0xc6, 0xc7, map0F | 0x11, map0F | 0x29, map0F | 0x7f, map0F | 0xd6:
		return true
	}
	return false
}

// StoresX15 tells if an instruction writes X15 to memory, with movups.
func StoresX15(op int, m Operand) bool { return op == map0F|0x11 && m.Reg == 15 }

// Compares tells if an instruction with this operand only sets the flags.
func Compares(op int, m Operand) bool {
	switch op {
	case 0x38, 0x39, 0x3a, 0x3b, 0x84, 0x85:
		return true
	case 0x80, 0x81, 0x83:
		return m.group == 7
	case 0xf6, 0xf7:
		return m.group < 2
	}
	return false
}

// IsConditional tells if an instruction takes one of two values by the flags: cmov
// and setcc.
func IsConditional(op int) bool {
	return op >= map0F|0x40 && op <= map0F|0x4f || op >= map0F|0x90 && op <= map0F|0x9f
}
