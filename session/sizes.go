package session

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/prompt"
	"tracerag/prompt/tokens"
)

// Sizes measures the prompts about some views, one or two each, as the paper's tables 8
// and 9 do. Missing are the modules whose sources are not on this machine: their lines
// are not counted.
func (s *Session) Sizes(about [][]*View, count tokens.Counter) (rows []prompt.SizeRow, missing []string, err error) {
	for _, views := range about {
		var titles []string
		lines := 0
		for _, v := range views {
			titles = append(titles, v.Title())
			whole := v.Sources.Whole()
			lines = max(lines, whole.Lines)
			for _, m := range whole.Missing {
				if !slices.Contains(missing, m) {
					missing = append(missing, m)
				}
			}
		}
		if err := s.PromptFits(views); err != nil {
			return nil, nil, err
		}
		title := strings.Join(titles, " / ")
		row, err := prompt.Sizes(title, s.Input("", views...), count)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", title, err)
		}
		row.ClosureLines = lines
		rows = append(rows, row)
	}
	return rows, missing, nil
}
