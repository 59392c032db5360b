package plan

// Flags of an encoded mark, above its form.
const (
	flagBehind = 0x10
	flagFlags  = 0x20
	flagOnce   = 0x40
)

func (e *encoder) marks(marks []BlockMark) {
	e.number(uint64(len(marks)))
	for i := range marks {
		m := &marks[i]
		head := byte(m.Form)
		if m.Behind {
			head |= flagBehind
		}
		if m.Flags {
			head |= flagFlags
		}
		if m.Once {
			head |= flagOnce
		}
		e.out = append(e.out, head)
		e.number(uint64(m.Func)) // that of faults may be behind the others
		e.address(m.At)
		e.address(m.Block)
		e.bytes(m.Code)
		e.number(uint64(m.Before))
	}
}

func (d *planDecoder) marks() []BlockMark {
	n := d.count(6)
	if n == 0 {
		return nil
	}
	marks := make([]BlockMark, n)
	for i := range marks {
		m := &marks[i]
		if len(d.in) == 0 {
			d.fail()
			return nil
		}
		head := d.in[0]
		d.in = d.in[1:]
		m.Form, m.Behind, m.Flags, m.Once = MarkForm(head&0x0f), head&flagBehind != 0, head&flagFlags != 0, head&flagOnce != 0
		m.Func = int(d.number())
		m.At, m.Block = d.address(), d.address()
		m.Code = d.bytes()
		m.Before = int(d.number())
		if m.Form > MarkTaken || len(m.Code) == 0 || m.Before > len(m.Code) || m.Form != MarkSlot && (m.Before > 0 || len(m.Code) < 5) || m.Once && !m.OneWord() {
			d.fail()
		}
	}
	return marks
}
