package patch

// Flags of an encoded mark, above its form.
const (
	flagBehind = 0x10
	flagFlags  = 0x20
	flagOnce   = 0x40
)

func (e *encoder) marks(marks []Mark) {
	e.number(uint64(len(marks)))
	for i := range marks {
		m := &marks[i]
		head := byte(m.form)
		if m.Behind {
			head |= flagBehind
		}
		if m.flags {
			head |= flagFlags
		}
		if m.Once {
			head |= flagOnce
		}
		e.out = append(e.out, head)
		e.number(uint64(m.Func)) // that of faults may stand behind the others
		e.address(m.At)
		e.address(m.Block)
		e.bytes(m.code)
		e.number(uint64(m.before))
	}
}

func (d *planDecoder) marks() []Mark {
	n := d.count(6)
	if n == 0 {
		return nil
	}
	marks := make([]Mark, n)
	for i := range marks {
		m := &marks[i]
		if len(d.in) == 0 {
			d.fail()
			return nil
		}
		head := d.in[0]
		d.in = d.in[1:]
		m.form, m.Behind, m.flags, m.Once = markForm(head&0x0f), head&flagBehind != 0, head&flagFlags != 0, head&flagOnce != 0
		m.Func = int(d.number())
		m.At, m.Block = d.address(), d.address()
		m.code = d.bytes()
		m.before = int(d.number())
		if m.form > markTaken || len(m.code) == 0 || m.before > len(m.code) || m.form != markWindow && (m.before > 0 || len(m.code) < 5) || m.Once && !m.oneWord() {
			d.fail()
		}
	}
	return marks
}
