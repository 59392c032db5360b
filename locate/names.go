package locate

// namesakes is how many functions of one name are candidates for it. A name that more
// have, such as String, says too little.
const namesakes = 20

// names takes the functions that the report writes the names of for candidates. What a name
// is worth is package rank's to say.
func (s *search) names() error {
	if len(s.report.names) == 0 {
		return nil
	}
	decls, err := s.store.Named(s.ctx, s.report.names, s.scope)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for i := range decls {
		count[simple(decls[i].Name)]++
	}
	for i := range decls {
		if count[simple(decls[i].Name)] <= namesakes {
			s.add(decls[i])
		}
	}
	return nil
}
