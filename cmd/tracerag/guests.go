package main

import (
	"context"

	"tracerag/knowledge"
	"tracerag/session"
)

// guests opens who may read the project by the page, and the audit of what they asked; what names them in an error. What is
// noted is masked before, whatever the flags of the command say: others read it.
func (a *app) guests(ctx context.Context, k *knowledgeFlags, what string) (knowledge.Guests, func(), error) {
	place, err := a.database(k, what)
	if err != nil {
		return nil, nil, err
	}
	s, err := place.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &maskedGuests{s.(knowledge.Guests), session.NewMasker(a.newRedactor)}, func() { _ = s.Close() }, nil
}

// maskedGuests notes questions without secrets.
type maskedGuests struct {
	knowledge.Guests
	secrets *session.Masker
}

// Asked is of [knowledge.Guests].
func (g *maskedGuests) Asked(ctx context.Context, q knowledge.Question) error {
	own := g.secrets.Fork() // what one guest writes is nothing that another one's question is masked by
	own.LearnText(q.Text)
	q.Text = own.Text(q.Text)
	return g.Guests.Asked(ctx, q)
}
