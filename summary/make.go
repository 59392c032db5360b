package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tracerag/knowledge"
	"tracerag/llm/metered"
	"tracerag/visible"
)

// Maker has a model write the summaries that a book lacks. It keeps each before the next
// question is asked, so an interruption loses the questions under way at most, and
// what is asked again is what was asked: a model that keeps its answers gives them again.
type Maker struct {
	Book  *Book // with what it is kept in
	Model *metered.Model
	// Learn sees all files, some at a time, before a part of one is sent: what is a secret in one of
	// them may be known by its name in another. nil: nobody does.
	Learn    func(texts []string)
	Progress func(done, all int) // files; one call at a time; nil: nobody
	Parallel int                 // files at a time; 1 if 0
	// Claim has one process at a time make summaries under some keys: it waits for others that do. nil: there are none.
	Claim func(ctx context.Context, keys []knowledge.SummaryKey) (release func(), err error)

	pretended asker // in place of Model
	mu        sync.Mutex
	seeds     map[int64]*seed
	made      Made
}

// Made counts what a maker made.
type Made struct {
	Decls        int `json:"declarations"`
	Files        int `json:"files"`
	Packages     int `json:"packages"`
	Repositories int `json:"repositories"`
	// Substitutes are those for which no reply was right. They are not asked again.
	Substitutes int `json:"substitutes"`
	// Changed are files that changed since they were indexed, so that they were left out.
	Changed int `json:"changed"`
}

// Made returns what was made until now.
func (k *Maker) Made() Made {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made
}

func (k *Maker) asker() asker {
	if k.pretended != nil {
		return k.pretended
	}
	return model{k.Model}
}

// mostParts is how many questions a file is worth, those after a wrong reply not counted. What
// a larger one declares last gets substitutes: nobody has written it by hand.
const mostParts = 64

// Files makes the summaries that files lack, those of their declarations with them. After an
// error what was made is kept.
func (k *Maker) Files(ctx context.Context, files []knowledge.File) error {
	if k.Book.Kept == nil {
		return errors.New("summaries cannot be made: the book has nothing that keeps them")
	}
	// Equal declarations of two files are asked once: the second file waits for the first. So the
	// questions are the same however many files are asked about at a time.
	type task struct {
		file  knowledge.File
		after []int
		done  chan struct{}
	}
	var tasks []task
	first := map[knowledge.SummaryKey]int{}
	repositories, err := k.Book.Store.Repositories(ctx)
	if err != nil {
		return err
	}
	err = k.Book.each(ctx, files, bare, func(u *unit) error {
		if u.changed {
			k.count(Made{Changed: 1})
		}
		if u.text == nil || u.changed {
			return nil
		}
		t := task{file: u.File.File, done: make(chan struct{})}
		needs := func(key knowledge.SummaryKey) {
			if at, ok := first[key]; !ok {
				first[key] = len(tasks)
			} else if at < len(tasks) && (len(t.after) == 0 || t.after[len(t.after)-1] != at) {
				t.after = append(t.after, at)
			}
		}
		lacks := !u.kept
		for i := range u.Decls {
			if !u.Decls[i].kept {
				lacks = true
				needs(u.Decls[i].key)
			}
		}
		if lacks {
			needs(u.key)
			tasks = append(tasks, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if k.Learn != nil && len(tasks) > 0 {
		if err := k.learn(ctx, repositories, files); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	finished := 0
	free := make(chan struct{}, max(k.Parallel, 1))
	for i := range tasks {
		free <- struct{}{}
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop || ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-free }()
			defer close(tasks[i].done)
			for _, other := range tasks[i].after {
				<-tasks[other].done
			}
			mu.Lock()
			stop := failed != nil
			mu.Unlock()
			if stop {
				return
			}
			err := k.file(ctx, repositories, tasks[i].file)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", visible.Line(tasks[i].file.Path), err)
			}
			if err == nil {
				finished++
				if k.Progress != nil {
					k.Progress(finished, len(tasks))
				}
			}
		})
	}
	all.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// learn shows all files to who hides secrets. Those that lack nothing are among them: so what is
// sent does not depend on how much was made before an interruption.
func (k *Maker) learn(ctx context.Context, repositories []knowledge.Repository, files []knowledge.File) error {
	for part := range slices.Chunk(files, atATime) {
		var texts []string
		for _, f := range part {
			i := slices.IndexFunc(repositories, func(r knowledge.Repository) bool { return r.ID == f.Repository })
			if i < 0 || ctx.Err() != nil {
				continue
			}
			if text, err := k.Book.Read(&repositories[i], f.Path); err == nil {
				texts = append(texts, string(text))
			}
		}
		k.Learn(texts)
	}
	return ctx.Err()
}

// file makes what one file lacks.
func (k *Maker) file(ctx context.Context, repositories []knowledge.Repository, f knowledge.File) error {
	units, err := k.Book.read(ctx, repositories, []knowledge.File{f}, signed)
	if err != nil {
		return err
	}
	if keys := units[0].lacks(); k.Claim != nil && len(keys) > 0 {
		release, err := k.Claim(ctx, keys)
		if err != nil {
			return err
		}
		defer release()
		// Who had them may have made them.
		if units, err = k.Book.read(ctx, repositories, []knowledge.File{f}, signed); err != nil {
			return err
		}
	}
	u := &units[0]
	if u.text == nil || u.changed {
		return nil
	}
	its := items(u)
	var open []int
	for i := range its {
		if !its[i].known {
			open = append(open, i)
		}
	}
	line := !u.kept
	if len(u.Decls) == 0 && line {
		return k.set(ctx, knowledge.Summary{SummaryKey: u.key, Text: u.Line}) // it has nothing to ask about
	}
	all := newLabels(its)
	seed, err := k.seed(ctx, u.repository)
	if err != nil {
		return err
	}
	for n := 0; len(open) > 0 || line; n++ {
		var list []knowledge.Summary
		if n == mostParts {
			list = k.substitutes(u, its, open)
			open = nil
			if line {
				list = append(list, knowledge.Summary{SummaryKey: u.key, Text: u.Line, Substitute: true})
			}
			return k.set(ctx, list...)
		}
		asked, got, err := k.part(ctx, u, its, all, open, line, seed)
		if err != nil {
			return err
		}
		var missing []int
		for _, i := range asked.asked {
			text, ok := got.texts[i]
			if !ok {
				missing = append(missing, i)
				continue
			}
			its[i].text, its[i].known = text, true
			for _, d := range its[i].decls {
				list = append(list, knowledge.Summary{SummaryKey: u.Decls[d].key, Text: text})
			}
		}
		open = open[len(asked.asked):]
		if len(asked.asked) > 0 && len(missing) == len(asked.asked) {
			// Nothing of it was right, so what is left of the file is not asked.
			missing = append(missing, open...)
			open = nil
			asked.line = line
		}
		list = append(list, k.substitutes(u, its, missing)...)
		if asked.line {
			line = false
			x := knowledge.Summary{SummaryKey: u.key, Text: got.line}
			if x.Text == "" {
				x.Text, x.Substitute = u.Line, true
			}
			list = append(list, x)
		}
		if err := k.set(ctx, list...); err != nil {
			return err
		}
	}
	return nil
}

// lacks returns the keys of summaries that a file does not have.
func (u *unit) lacks() []knowledge.SummaryKey {
	if u.text == nil || u.changed {
		return nil
	}
	var keys []knowledge.SummaryKey
	for i := range u.Decls {
		if !u.Decls[i].kept {
			keys = append(keys, u.Decls[i].key)
		}
	}
	if !u.kept {
		keys = append(keys, u.key)
	}
	return keys
}

// alone claims one summary, and returns it if another process has made it meanwhile.
func (k *Maker) alone(ctx context.Context, key knowledge.SummaryKey) (made *knowledge.Summary, release func(), err error) {
	if k.Claim == nil {
		return nil, func() {}, nil
	}
	if release, err = k.Claim(ctx, []knowledge.SummaryKey{key}); err != nil {
		return nil, nil, err
	}
	kept, err := k.Book.kept(ctx, []knowledge.SummaryKey{key})
	if err != nil {
		release()
		return nil, nil, err
	}
	if x, ok := kept[key]; ok {
		made = &x
	}
	return made, release, nil
}

// part asks about as much of a file as one question takes, again about what the reply lacks.
func (k *Maker) part(ctx context.Context, u *unit, its []item, all *labels, open []int, line bool, seed string) (part, reply, error) {
	var asked part
	got := reply{texts: map[int]string{}}
	a := k.asker()
	note := ""
	for try := 0; try <= further; try++ {
		var p part
		text, err := smaller(ctx, a, room(a), func(room int) (metered.Question, func() string) {
			p = question(a, u, its, open, line, seed, note, room)
			return p.Question, func() string { return p.sample(u, its) }
		})
		if err != nil {
			return part{}, reply{}, err
		}
		if try == 0 {
			asked = p
		}
		r := parse(text, all, its)
		if r.line != "" && asked.line && got.line == "" {
			got.line = r.line
		}
		for i, said := range r.texts {
			if _, ok := got.texts[i]; !ok && !its[i].known {
				got.texts[i] = said
			}
		}
		still := part{line: asked.line && got.line == ""}
		open = nil
		for _, i := range asked.asked {
			if got.texts[i] == "" {
				open = append(open, i)
			}
		}
		still.asked, line = open, still.line
		if note = still.wrong(its, &reply{texts: got.texts, line: got.line, unknown: r.unknown}, try+1); note == "" {
			break
		}
	}
	return asked, got, nil
}

func (k *Maker) substitutes(u *unit, its []item, which []int) []knowledge.Summary {
	var list []knowledge.Summary
	for _, i := range which {
		its[i].known = true
		for _, d := range its[i].decls {
			x := &u.Decls[d]
			if !x.kept {
				x.Text = k.Book.substitute(&x.Decl.Decl, u.text)
			}
			its[i].text = x.Text
			list = append(list, knowledge.Summary{SummaryKey: x.key, Text: x.Text, Substitute: true})
		}
	}
	return list
}

// set keeps summaries, all or none of them.
func (k *Maker) set(ctx context.Context, list ...knowledge.Summary) error {
	// They are paid for: an interruption that comes now does not lose them.
	if err := k.Book.Kept.SetSummaries(context.WithoutCancel(ctx), k.Book.Model, list); err != nil {
		return fmt.Errorf("keeping summaries: %w", err)
	}
	var m Made
	for _, x := range list {
		switch x.Level {
		case knowledge.DeclSummary:
			m.Decls++
		case knowledge.FileSummary:
			m.Files++
		case knowledge.PackageSummary:
			m.Packages++
		case knowledge.RepositorySummary:
			m.Repositories++
		}
		if x.Substitute {
			m.Substitutes++
		}
	}
	k.count(m)
	return nil
}

func (k *Maker) count(m Made) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made.Decls += m.Decls
	k.made.Files += m.Files
	k.made.Packages += m.Packages
	k.made.Repositories += m.Repositories
	k.made.Substitutes += m.Substitutes
	k.made.Changed += m.Changed
}
