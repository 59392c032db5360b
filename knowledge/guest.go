package knowledge

import (
	"context"
	"errors"
	"time"
)

// Guests keeps who may read a project without a role in its database, by the page alone, and what they asked. Only
// databases have it. In a store that is open for reading Holder and the lists work, and the rest fails.
type Guests interface {
	// AddToken makes a token for a guest, by whose name the audit knows them. The secret is returned here and kept nowhere.
	// The error is an ErrTokenTaken if a token of that name is in force.
	AddToken(ctx context.Context, name string) (secret string, err error)
	// Tokens lists all tokens by name, those that were revoked too.
	Tokens(ctx context.Context) ([]Token, error)
	// RemoveToken revokes the token of a name: ErrNoToken if none is in force.
	RemoveToken(ctx context.Context, name string) error
	// Holder returns whose token has a secret. The error is an ErrNoToken or ErrRevoked if the holder may not read.
	Holder(ctx context.Context, secret string) (name string, err error)
	// Asked notes a question, now, and its beginning if it is long. It has no secrets: who calls has masked them. What is older than
	// [AuditKept] is removed.
	Asked(ctx context.Context, q Question) error
	// Audit returns the questions that a filter lets through, the newest first.
	Audit(ctx context.Context, f QuestionFilter) ([]Question, error)
}

// Token lets a guest read.
type Token struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"` // of the database, that made it
	Created time.Time  `json:"created"`
	Used    *time.Time `json:"used,omitempty"` // last, to a minute
	Revoked *time.Time `json:"revoked,omitempty"`
}

// Question is what a guest asked.
type Question struct {
	When time.Time `json:"when"`
	Who  string    `json:"who"`  // name of a token
	What string    `json:"what"` // kind of question: "search", "locate", "function", ...
	Text string    `json:"text"`
	Role string    `json:"role"` // of the database, that noted it
}

// QuestionFilter lets questions through.
type QuestionFilter struct {
	Since time.Time
	Who   string // "" lets all
	Limit int    // 0: all
}

// AuditKept is how long questions are kept.
const AuditKept = 90 * 24 * time.Hour

// MostAsked is how much of a question's text is kept, in bytes.
const MostAsked = 4 << 10

// Errors of [Guests].
var (
	ErrNoToken    = errors.New("no such token")
	ErrRevoked    = errors.New("the token was revoked")
	ErrTokenTaken = errors.New("there is a token of that name")
)
