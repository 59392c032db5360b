package knowledge

import (
	"context"

	"tracerag/code"
)

// Level says what a summary is of.
type Level byte

// The levels.
const (
	DeclSummary Level = iota + 1
	FileSummary
	PackageSummary
	RepositorySummary
)

// SummaryKey names a summary: a hash of what it is made of. Equal units in several places have
// one summary.
type SummaryKey struct {
	Level Level
	Hash  code.Hash
}

// Summary is what a unit does, in a sentence or a few.
type Summary struct {
	SummaryKey
	Text string
	// Substitute says that the model gave none that was right, and Text is from the code. It is
	// not asked again.
	Substitute bool
}

// Summaries keeps summaries. Those of different models are apart.
type Summaries interface {
	// Summaries returns those of the keys that there are.
	Summaries(ctx context.Context, model string, keys []SummaryKey) (map[SummaryKey]Summary, error)
	SetSummaries(ctx context.Context, model string, list []Summary) error
}

// SummaryModels says whose summaries there are, for those who take any.
type SummaryModels interface {
	// SummaryModels returns the models, the one with the most summaries first.
	SummaryModels(ctx context.Context) ([]string, error)
}

// Answers keeps what models answered, under a key that the caller makes.
type Answers interface {
	// Answer returns what was kept; nil if nothing was.
	Answer(ctx context.Context, key string) ([]byte, error)
	KeepAnswer(ctx context.Context, key string, answer []byte) error
}
