package main

import (
	"context"
	"fmt"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/knowledge/stores"
	"tracerag/llm/metered"
	"tracerag/summary"
)

// indexed is a report of index with that of the summaries.
type indexed struct {
	index.Report
	Summaries *summary.Report `json:"summaries,omitempty"`
}

// maker makes summaries.
func (a *app) maker(s knowledge.Store, model *metered.Model, m *meteredFlags) *summary.Maker {
	return &summary.Maker{Model: model, Parallel: m.limits.Parallel, Learn: a.masker().LearnTexts,
		Book: &summary.Book{Store: s, Read: lookup.ReadTree, Kept: s, Model: model.Name(), Mask: a.masker().Clean}}
}

// summarise has a model make the summaries of the repositories that were indexed; with a trace
// only those of the files that it executed.
//
// Two commands at once would ask nearly everything twice: the second waits.
func (a *app) summarise(ctx context.Context, s knowledge.Store, place *stores.Place, m *meteredFlags, trace string, of []indexed) error {
	unlock, err := place.Lock(ctx, s, func() { a.note("another tracerag makes summaries for %s: waiting for it", place) })
	if err != nil {
		return err
	}
	defer unlock()
	model, err := a.metered(m, s, a.masker().Clean, nil)
	if err != nil {
		return fmt.Errorf("summaries are made by a model: %w", err)
	}
	k := a.maker(s, model, m)
	names := make([]string, len(of))
	for i := range of {
		names[i] = of[i].Repository
	}
	done := a.wait("reading what is to be summarised")
	tasks, all, err := k.Tasks(ctx, names, trace)
	done()
	if err == nil && all.Questions > 0 {
		err = model.Affordable("make " + all.String())
	}
	if err != nil {
		return err
	}
	a.note("%s: %s", model.Name(), all)
	bar := a.progress("files")
	defer bar.Close()
	k.Progress = bar.Set
	for i := range tasks {
		if of[i].Summaries, err = k.Repository(ctx, &tasks[i]); err != nil {
			return fmt.Errorf("%w\nwhat was made is kept; the same command makes the rest", err)
		}
	}
	a.noteMasked()
	return nil
}
