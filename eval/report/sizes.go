package report

import (
	"fmt"
	"slices"

	"tracerag/eval"
)

// sizeTables are table 8, one for each tokenizer.
func (in *Input) sizeTables() []*Table {
	var tokenizers []string
	for _, s := range in.Sizes {
		if !slices.Contains(tokenizers, s.Tokenizer) {
			tokenizers = append(tokenizers, s.Tokenizer)
		}
	}
	slices.Sort(tokenizers)
	var all []*Table
	for _, name := range tokenizers {
		all = append(all, in.sizeTable(name))
	}
	return all
}

type sizeKey struct {
	experiment, inquiry string
	variant             eval.Variant
}

func (in *Input) sizeTable(tokenizer string) *Table {
	tokens := map[sizeKey]int{}
	how := "exact"
	for _, s := range in.Sizes {
		if s.Tokenizer != tokenizer {
			continue
		}
		tokens[sizeKey{s.Experiment, s.Inquiry, s.Variant}] = s.Tokens
		if !s.Exact {
			how = "estimated"
		}
	}
	t := &Table{
		Name:    "sizes-" + fileName(tokenizer),
		Title:   fmt.Sprintf("Prompt sizes in tokens of %s, %s, as the paper's table 8", tokenizer, how),
		columns: []column{textColumn("experiment"), textColumn("inquiry")},
	}
	// Only what this tokenizer has counted.
	var variants []eval.Variant
	for _, v := range in.variants(in.Experiments) {
		for k := range tokens {
			if k.variant == v {
				variants = append(variants, v)
				t.columns = append(t.columns, numberColumn(string(v)))
				break
			}
		}
	}
	total := make([]sum, len(variants))
	for _, e := range in.Experiments {
		for i := range e.Inquiries {
			inq := &e.Inquiries[i]
			row := []cell{textCell(e.Name), textCell(title(inq))}
			full, hasFull := tokens[sizeKey{e.Name, inq.ID, "full"}]
			if !slices.ContainsFunc(variants, func(v eval.Variant) bool { return tokens[sizeKey{e.Name, inq.ID, v}] > 0 }) {
				continue
			}
			for k, v := range variants {
				n, ok := tokens[sizeKey{e.Name, inq.ID, v}]
				if !ok {
					row = append(row, noCell(1))
					total[k].missing = true
					continue
				}
				row = append(row, intCell(n))
				total[k].tokens += n
				if hasFull {
					total[k].compared += n
					total[k].full += full
				}
			}
			t.rows = append(t.rows, row)
		}
	}
	all := []cell{textCell("all"), textCell("sum")}
	share := []cell{textCell("all"), textCell("of full, in %")}
	for _, s := range total {
		if s.missing {
			all = append(all, noCell(1)) // a sum of fewer would look like a smaller variant
		} else {
			all = append(all, intCell(s.tokens))
		}
		if s.full == 0 {
			share = append(share, noCell(1))
		} else {
			share = append(share, floatCell(100*float64(s.compared)/float64(s.full), 1, ""))
		}
	}
	t.rows = append(t.rows, all)
	if slices.Contains(variants, "full") {
		t.rows = append(t.rows, share)
		t.Notes = append(t.Notes, "The last line is over the inquiries that have both variants.")
	}
	return t
}

// sum is over the inquiries of a variant.
type sum struct {
	tokens         int
	missing        bool
	compared, full int // where there is full, too
}

// fileName is a tokenizer's name as a part of a file's.
func fileName(s string) string {
	out := []rune(s)
	for i, r := range out {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			out[i] = '-'
		}
	}
	return string(out)
}

// sourceTable is table 9.
func (in *Input) sourceTable() *Table {
	t := &Table{
		Name:  "sources",
		Title: "Source code that the prompts refer to, as the paper's table 9",
		columns: []column{
			textColumn("experiment"), textColumn("inquiry"), numberColumn("files"), numberColumn("lines of the files"),
			numberColumn("lines of full"), numberColumn("lines of all modules"), numberColumn("full of all, in %"),
		},
	}
	for _, e := range in.Experiments {
		for i := range e.Inquiries {
			inq := &e.Inquiries[i]
			at := slices.IndexFunc(in.Sources, func(s Source) bool { return s.Experiment == e.Name && s.Inquiry == inq.ID })
			if at < 0 {
				continue
			}
			s := in.Sources[at]
			row := []cell{textCell(e.Name), textCell(title(inq)), intCell(s.Files), intCell(s.FileLines), intCell(s.FullLines)}
			if s.AllLines > 0 {
				row = append(row, intCell(s.AllLines), floatCell(100*float64(s.FullLines)/float64(s.AllLines), 2, ""))
			} else {
				row = append(row, noCell(1), noCell(1))
			}
			t.rows = append(t.rows, row)
		}
	}
	if t.rows == nil {
		return nil
	}
	return t
}
