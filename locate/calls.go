package locate

// around is how many of the best functions are looked around.
const around = 10

// calls marks what calls the best functions and what they call, and makes candidates of
// those that are none yet. Nothing is taken away.
func (s *search) calls() error {
	best := s.sorted()
	best = best[:min(around, len(best))]
	if len(best) == 0 {
		return nil
	}
	var ids []int64
	name := map[int64]string{}
	for _, c := range best {
		ids = append(ids, c.ID)
		name[c.ID] = c.Name
	}
	callers, err := s.store.Callers(s.ctx, ids)
	if err != nil {
		return err
	}
	callees, err := s.store.Callees(s.ctx, ids)
	if err != nil {
		return err
	}
	why := map[int64]string{}
	var next []int64
	note := func(id int64, what string) {
		if why[id] == "" {
			why[id] = what
			next = append(next, id)
		}
	}
	for _, e := range callers {
		note(e.Caller, "calls "+name[e.Callee])
	}
	for _, e := range callees {
		note(e.Callee, "called by "+name[e.Caller])
	}
	decls, err := s.store.Decls(s.ctx, next)
	if err != nil {
		return err
	}
	known := len(s.found)
	for i := range decls {
		s.add(decls[i])
	}
	if len(s.found) > known { // to score all takes as long as what came before
		if err := s.score(); err != nil {
			return err
		}
	}
	for _, id := range next {
		if c := s.found[id]; c != nil && !c.ran {
			c.mark(Calls, s.w.Calls, why[id])
		}
	}
	return nil
}
