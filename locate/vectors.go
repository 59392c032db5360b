package locate

import (
	"context"

	"tracerag/knowledge"
)

// Nearest returns the functions of repositories whose vectors are nearest to that of a text,
// the nearest first.
type Nearest func(ctx context.Context, text string, repositories []int64, limit int) ([]knowledge.Near, error)

// nearest is how many functions vectors make candidates.
const nearest = 100

// vectors makes the functions candidates whose vectors are nearest to the report's, and marks
// them by how near they are, between the farthest of them and the nearest.
func (s *search) vectors() error {
	if s.o.Nearest == nil {
		return nil
	}
	for _, repo := range s.scope {
		near, err := s.o.Nearest(s.ctx, s.report.text, []int64{repo}, nearest)
		if err != nil {
			return err
		}
		if len(near) == 0 {
			continue
		}
		low, high := near[len(near)-1].Cosine, near[0].Cosine
		for _, n := range near {
			part := 1.
			if high > low {
				part = (n.Cosine - low) / (high - low)
			}
			s.add(n.Decl).mark(Vectored, s.w.Vectors*part, "")
		}
	}
	return nil
}
