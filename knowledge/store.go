package knowledge

import (
	"context"
	"io"
)

// Store keeps what is known of repositories. It is safe for concurrent use. Package
// knowledge/stores opens one by its place: a file, or a database.
type Store interface {
	Reader
	Writer
	Vectors
	Summaries
	SummaryModels
	Answers
	Executions
	// Dump writes all that is known as text, the same for equal stores of any kind.
	Dump(ctx context.Context, w io.Writer) error
	Close() error
}
