package source

// Registers are those that Call loads and stores.
type Registers struct {
	AX, BX, CX, DX, SI, DI, BP, SP, R8, R9, R10, R11, R12, R13, R14, R15 uint64

	X [14][2]uint64
	_ [2]uint64 // our own SP and BP meanwhile
}

// Call loads the registers but R12, calls the code at entry, and stores what the
// registers are then. The stack is the one that SP points to.
//
//go:noescape
func Call(entry uintptr, r *Registers)

// Repeat calls the code at entry n times with the same SP, BP, R13 and R14.
//
//go:noescape
func Repeat(entry uintptr, r *Registers, n int)
