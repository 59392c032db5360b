package prompt

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"tracerag/phrase"
	"tracerag/prompt/tokens"
)

// SizeRow is one prompt's line in the tables 8 and 9 of Kamiya 2024.
type SizeRow struct {
	Name     string          `json:"name"`
	Encoding string          `json:"encoding"`
	Tokens   map[Variant]int `json:"tokens"`

	Files     int `json:"files"`      // source files that the prompt has functions of
	FileLines int `json:"file_lines"` // lines of those files
	FullLines int `json:"full_lines"` // lines of the full variant

	// ClosureLines are the lines of all Go files of all modules in the
	// program: what a prompt would hold that did not know what ran. The
	// caller counts them; 0 is unknown.
	ClosureLines int `json:"closure_lines,omitempty"`
}

// Sizes measures a question in every variant. The counter is that of the
// default model if nil. The source files are read to count their lines.
func Sizes(name string, in Input, c tokens.Counter) (SizeRow, error) {
	if c == nil {
		c = tokens.For("")
	}
	row := SizeRow{Name: name, Encoding: c.Encoding(), Tokens: map[Variant]int{}}
	for _, v := range Variants {
		p, err := Build(in, Options{Variant: v, Counter: c})
		if err != nil {
			return row, err
		}
		row.Tokens[v] = p.Total
		if v == Full {
			row.FullLines = strings.Count(p.Text, "\n")
		}
	}
	var err error
	if row.Files, row.FileLines, err = Files(in); err != nil {
		return row, fmt.Errorf("size of %s: %w", name, err)
	}
	return row, nil
}

// Files counts the source files that a prompt has functions of, and their lines.
func Files(in Input) (files, lines int, err error) {
	m, err := collect(in)
	if err != nil {
		return 0, 0, err
	}
	seen := map[string]bool{}
	for _, it := range m.union() {
		if it.path == "" || seen[it.path] {
			continue
		}
		seen[it.path] = true
		n, err := countLines(it.path)
		if err != nil {
			return 0, 0, err
		}
		files++
		lines += n
	}
	return files, lines, nil
}

func countLines(file string) (int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	buf := make([]byte, 64<<10)
	var last byte = '\n'
	for {
		k, err := f.Read(buf)
		if k > 0 {
			n += bytes.Count(buf[:k], []byte{'\n'})
			last = buf[k-1]
		}
		if err == io.EOF {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// WriteTables writes the rows as the paper's tables 8 (tokens of each variant)
// and 9 (source files referenced), in Markdown.
func WriteTables(w io.Writer, rows []SizeRow) error {
	b := bufio.NewWriter(w)
	encoding := ""
	for _, r := range rows {
		if encoding != "" && encoding != r.Encoding {
			return fmt.Errorf("rows counted in %s and in %s do not compare", encoding, r.Encoding)
		}
		encoding = r.Encoding
	}
	fmt.Fprintf(b, "Prompt sizes (%s tokens)\n\n| Prompt |", encoding)
	columns := append(append([]Variant{}, Variants[1:]...), Ordered) // the paper's order, ours last
	for _, v := range columns {
		fmt.Fprintf(b, " %s |", v)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", cell(r.Name))
		for _, v := range columns {
			fmt.Fprintf(b, " %s |", phrase.Number(r.Tokens[v]))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nSource code referenced by the prompts\n\n" +
		"| Prompt | Files | Lines of the files | Lines of the full variant | Lines of all modules | Full of all |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		closure, share := "", ""
		if r.ClosureLines > 0 {
			closure = phrase.Number(r.ClosureLines)
			share = fmt.Sprintf("%.1f %%", 100*float64(r.FullLines)/float64(r.ClosureLines))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n",
			cell(r.Name), phrase.Number(r.Files), phrase.Number(r.FileLines), phrase.Number(r.FullLines), closure, share)
	}
	return b.Flush()
}

// cell makes a text fit into a cell of a table.
func cell(s string) string { return strings.ReplaceAll(oneLine(s), "|", `\|`) }
