package x86

// VEX and EVEX: the encodings of AVX, of AVX-512, and of some instructions on
// general registers that compilers use from GOAMD64=v3 on (andn, shlx, mulx).
//
// Their opcodes lie in the maps of the older encodings, with few exceptions in
// what follows them: that is all that must be known here, for none of them is a
// branch and none reads the flags.

// vectorOpcode reads the rest of a prefix that begins with lead, and the opcode.
func (d *decoder) vectorOpcode(lead byte) (op int, o opcode, ok bool) {
	d.vector = true
	m := byte(1)
	switch lead {
	case 0xc5:
		c := d.next()
		d.r = ^c >> 7 & 1 << 3
		d.v = ^c >> 3 & 15
	case 0xc4:
		c := d.next()
		d.r, d.x, d.b = ^c>>7&1<<3, ^c>>6&1<<3, ^c>>5&1<<3
		m = c & 0x1f
		c = d.next()
		d.v = ^c >> 3 & 15
		if m < 1 || m > 3 {
			return 0, opcode{}, false
		}
	case 0x62:
		c := d.next()
		d.r, d.x, d.b = ^c>>7&1<<3, ^c>>6&1<<3, ^c>>5&1<<3
		m = c & 7
		second := d.next()
		d.v = ^second >> 3 & 15
		d.next()
		// Bit 3 of the first byte and bit 2 of the second are fixed, until
		// processors with 32 general registers give them a meaning.
		if c&8 != 0 || second&4 == 0 || m == 0 || m == 4 || m == 7 {
			return 0, opcode{}, false
		}
	}
	c := d.next()
	if d.i > len(d.p) {
		return 0, opcode{}, false
	}
	o = opcode{known: true, modRM: true, props: Movable}
	switch {
	case m == 3:
		o.imm = imm8
	case m == 1 && (c >= 0x70 && c <= 0x73 || c == 0xc2 || c >= 0xc4 && c <= 0xc6):
		o.imm = imm8
	case m == 1 && c == 0x77 && lead != 0x62: // vzeroupper, vzeroall
		o.modRM = false
	case m == 1 && c == 0xf7: // vmaskmovdqu: memory that the encoding does not show
		o.props = MayFault
	}
	return int(m)<<8 | int(c), o, true
}
