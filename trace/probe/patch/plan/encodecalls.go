package plan

func (e *encoder) calls(calls []Call) {
	e.number(uint64(len(calls)))
	host := 0
	for i := range calls {
		c := &calls[i]
		e.number(uint64(c.Host - host)) // they are sorted
		host = c.Host
		e.number(uint64(c.Callee))
		e.address(c.At)
	}
}

func (d *planDecoder) calls(hooks []Hook) []Call {
	n := d.count(3)
	if n == 0 {
		return nil
	}
	calls := make([]Call, n)
	host := 0
	for i := range calls {
		host += int(d.number())
		c := Call{Host: host, Callee: int(d.number())}
		c.At = d.address()
		for _, k := range []int{c.Host, c.Callee} {
			if k >= len(hooks) || hooks[k].Kind != Check && hooks[k].Kind != Frame {
				d.fail()
				return nil
			}
		}
		calls[i] = c
	}
	return calls
}
