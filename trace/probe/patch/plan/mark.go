package plan

// BlockMark is one place in the code where a byte is set.
type BlockMark struct {
	Func  int    // index in executable.File.Funcs of the function that has the code
	Block uint64 // link-time address of the block that has run when the byte is set
	// Behind is set if something in the block runs before the mark that may fault:
	// the block may then have run without setting it.
	Behind bool
	// Once is set if the mark may give the code back when the block has run: one
	// aligned store does, and the stack is known to have room for what that takes.
	Once bool

	At     uint64 // link-time address of the changed code
	Form   MarkForm
	Flags  bool   // the flags matter at the mark
	Code   []byte // the displaced instructions, or the branch that is led through the stub
	Before int    // bytes of the displaced instructions that run before the mark
}

// MarkForm is how a mark is put into the code.
type MarkForm uint8

const (
	MarkSlot  MarkForm = iota // displaced instructions, as with a hook
	MarkCall                  // a direct call, which is led through the stub
	MarkTaken                 // a conditional branch of six bytes, whose target is the stub
)

// Changed is which bytes of the code the mark changes, from At on: a jump, or where a
// branch leads.
func (m *BlockMark) Changed() (from, to int) {
	switch {
	case m.Form != MarkSlot:
		return len(m.Code) - 4, len(m.Code)
	case m.Code[0] == 0xe9:
		return 1, JumpSize
	}
	return 0, JumpSize
}

// OneWord tells if what the mark changes is within eight aligned bytes, wherever the
// program is loaded: that is a matter of pages.
func (m *BlockMark) OneWord() bool {
	from, to := m.Changed()
	return (m.At+uint64(from))/8 == (m.At+uint64(to)-1)/8
}
