package locate

// quoting is how many functions may have a text for it to say something.
const quoting = 20

// literals marks the functions that have a text of the report in a string literal. Package
// rank sees the opposite: a literal that is in the report.
func (s *search) literals() error {
	for _, text := range s.report.quoted {
		decls, err := s.store.Quoting(s.ctx, []string{text}, s.scope)
		if err != nil {
			return err
		}
		if len(decls) > quoting {
			continue
		}
		for i := range decls {
			s.add(decls[i]).mark(Literal, s.w.Literals, text)
		}
	}
	return nil
}
