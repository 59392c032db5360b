package prompt

// Who compares two runs asks about what only one of them called, and about the functions
// of both that call it: there the runs part. Their words rarely tell these: a question of
// this kind names what is seen, not the code. So both have more, by a share of the best
// score; less if a run has many functions to itself, since any one of them then says less.
const partShare = .25

// part raises the scores of what tells two runs apart.
func (f *fitter) part() {
	if !f.asked || len(f.m.runs) != 2 {
		return
	}
	best := 0.0
	for i := range f.units {
		best = max(best, f.units[i].Score)
	}
	if best <= 0 {
		return
	}
	in := [2]map[*item]bool{setOf(f.m.runs[0].once), setOf(f.m.runs[1].once)}
	both := func(it *item) bool { return in[0][it] && in[1][it] }
	alone := [2]int{} // functions that only this run called
	for i := range f.units {
		for run := range in {
			if it := f.units[i].it; in[run][it] && !both(it) {
				alone[run]++
			}
		}
	}
	parts := map[*item]bool{}
	for i := range f.m.runs {
		for n := range nodes(f.m.runs[i].tree) {
			if n.Parent == nil {
				continue
			}
			it, up := f.m.items[*n.Func], f.m.items[*n.Parent.Func]
			if it != nil && up != nil && !both(it) && both(up) {
				parts[up] = true
			}
		}
	}
	fewer := min(max(alone[0], 1), max(alone[1], 1))
	for i := range f.units {
		u := &f.units[i]
		switch {
		case parts[u.it]:
			u.Score += partShare * best
			u.add("where the runs part")
		case !both(u.it):
			run := 0
			if in[1][u.it] {
				run = 1
			}
			u.Score += partShare * best * float64(fewer) / float64(max(alone[run], 1))
			u.add("only one run calls it")
		}
	}
}

// add adds a reason for the score.
func (u *unit) add(why string) {
	if u.why != "" {
		u.why += "; "
	}
	u.why += why
}
