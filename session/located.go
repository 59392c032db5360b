package session

import (
	"tracerag/locate"
)

// Located hides the secrets in an answer of package locate: in names, paths, commits'
// subjects and command lines. The files of the functions are learned first, so a password
// that a source names is masked in a commit's subject, too. What cannot be read is not quoted.
func (m *Masker) Located(a *locate.Answer) {
	if m == nil {
		return
	}
	repositories := map[string]*locate.Repository{}
	for i := range a.Repositories {
		repositories[a.Repositories[i].Name] = &a.Repositories[i]
	}
	learned := map[string]bool{}
	var texts []string
	for _, f := range a.Functions {
		path := f.Repository + "\x00" + f.File
		if learned[path] {
			continue
		}
		learned[path] = true
		if r := repositories[f.Repository]; r != nil {
			if text, err := r.Text(f.File); err == nil {
				texts = append(texts, string(text))
			}
		}
	}
	m.LearnTexts(texts)
	for _, r := range a.Runs {
		m.LearnCommand(r.Command)
	}
	hide := func(texts ...*string) {
		for _, t := range texts {
			*t = m.Redactor().Text(*t)
		}
	}
	for i := range a.Functions {
		f := &a.Functions[i]
		hide(&f.Repository, &f.Package, &f.File, &f.Name)
		for j := range f.Reasons {
			hide(&f.Reasons[j].What)
		}
	}
	for _, places := range [][]locate.Place{a.Files, a.Packages} {
		for i := range places {
			p := &places[i]
			hide(&p.Repository, &p.Package, &p.File)
			for j := range p.Functions {
				hide(&p.Functions[j])
			}
		}
	}
	for i := range a.Repositories {
		r := &a.Repositories[i]
		hide(&r.Name, &r.Root)
		for j := range r.Reasons {
			hide(&r.Reasons[j].What)
		}
	}
	for i := range a.Runs {
		hide(&a.Runs[i].Command, &a.Runs[i].Package, &a.Runs[i].Test)
	}
	if a.Record != nil {
		hide(&a.Record.Dir, &a.Record.Package, &a.Record.Test)
		for i := range a.Record.Tags {
			hide(&a.Record.Tags[i])
		}
	}
	for i := range a.OldCalls {
		hide(&a.OldCalls[i])
	}
	for i := range a.Stale {
		hide(&a.Stale[i])
	}
}
