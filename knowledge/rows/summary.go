package rows

import "tracerag/knowledge"

// SelectModels is the query of what SummaryModels of [knowledge.Store] returns.
const SelectModels = "SELECT model FROM summary GROUP BY model ORDER BY count(*) DESC, model"

// ReadSummaries reads summaries (level, hash, text, substitute) by their keys.
func ReadSummaries(q Query) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	of := map[knowledge.SummaryKey]knowledge.Summary{}
	err := q.Each(func(scan Scan) error {
		var x knowledge.Summary
		var hash []byte
		err := scan(&x.Level, &hash, &x.Text, &x.Substitute)
		copy(x.Hash[:], hash)
		of[x.SummaryKey] = x
		return err
	})
	return of, err
}
