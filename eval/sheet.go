package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ID names an answer without telling whose it is: a hash of its cell and its text,
// behind a letter, without which spreadsheets take 1234e5678901 for a number.
func (a *Answer) ID() string {
	data, err := json.Marshal(struct {
		Cell Cell
		Text string
	}{a.Cell, a.Text})
	if err != nil {
		panic(err) // strings and numbers
	}
	sum := sha256.Sum256(data)
	return "a" + hex.EncodeToString(sum[:6])
}

// Sheet is what people grade answers in, as a table for a spreadsheet: a row for each
// answer and criterion. It is blind. Answers have their ID for a name and are in its
// order, so that the person who fills it in does not see which model answered, or to which prompt.
type Sheet struct {
	rows []sheetRow
}

type sheetRow struct {
	answer, inquiry, question, criterion, text, points, file string

	mark   *float64 // nil is none yet
	remark string
}

// Add adds empty rows for an experiment's answers. file says where the answer with an
// ID can be read.
func (s *Sheet) Add(e *Experiment, answers []Answer, file func(id string) string) {
	sorted := slices.Clone(answers)
	slices.SortFunc(sorted, func(a, b Answer) int { return strings.Compare(a.ID(), b.ID()) })
	for _, a := range sorted {
		inq := e.Inquiry(a.Inquiry)
		if inq == nil || a.Experiment != e.Name {
			continue // of an inquiry that was taken out
		}
		for _, c := range inq.Criteria {
			s.rows = append(s.rows, sheetRow{
				answer: a.ID(), inquiry: inq.ID, question: inq.Question,
				criterion: c.ID, text: strings.TrimSpace(c.Text), points: strconv.FormatFloat(c.Points, 'g', -1, 64),
				file: file(a.ID()),
			})
		}
	}
}

// Keep takes marks and remarks over from an older sheet. What somebody wrote to
// answers or criteria that the sheet has not any more is kept, too, at its end.
func (s *Sheet) Keep(old *Sheet) {
	at := map[[2]string]int{}
	for i, r := range s.rows {
		at[[2]string{r.answer, r.criterion}] = i
	}
	for _, r := range old.rows {
		i, ok := at[[2]string{r.answer, r.criterion}]
		switch {
		case ok:
			s.rows[i].mark, s.rows[i].remark = r.mark, r.remark
		case r.mark != nil || r.remark != "":
			s.rows = append(s.rows, r)
		}
	}
}

// Gradings are the marks by the ID of the answer, in the rows' order. Answers without
// a mark have none.
func (s *Sheet) Gradings() map[string]Grading {
	all := map[string]Grading{}
	for _, r := range s.rows {
		if r.mark == nil {
			continue
		}
		g := all[r.answer]
		g.Grader = HumanGrader
		g.Marks = append(g.Marks, Mark{r.criterion, *r.mark, r.remark})
		all[r.answer] = g
	}
	return all
}

// Marked returns how many of the sheet's rows have a mark.
func (s *Sheet) Marked() (marked, rows int) {
	for _, r := range s.rows {
		if r.mark != nil {
			marked++
		}
	}
	return marked, len(s.rows)
}

// The columns of a sheet.
const (
	colAnswer    = "answer"
	colInquiry   = "inquiry"
	colQuestion  = "question"
	colCriterion = "criterion"
	colText      = "what an answer has to do"
	colPoints    = "points"
	colFile      = "file"
	colMark      = "mark (0, 0.5 or 1)"
	colRemark    = "remark"
)

var columns = []string{colAnswer, colInquiry, colQuestion, colCriterion, colText, colPoints, colFile, colMark, colRemark}

// Write writes the sheet as CSV.
func (s *Sheet) Write(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{columns}
	for _, r := range s.rows {
		mark := ""
		if r.mark != nil {
			mark = strconv.FormatFloat(*r.mark, 'g', -1, 64)
		}
		row := []string{r.answer, r.inquiry, r.question, r.criterion, r.text, r.points, r.file, mark, r.remark}
		for i := range row {
			row[i] = CSVText(row[i])
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// maxSheet is the most bytes of a sheet.
const maxSheet = 64 << 20

// ReadSheet reads a sheet back, as it is or as a spreadsheet saved it: with a byte
// order mark, separated by semicolons or tabs, quoted in another way, its columns and
// rows in another order. Errors name the row as a spreadsheet counts it.
func ReadSheet(r io.Reader) (*Sheet, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSheet+1))
	if err != nil {
		return nil, fmt.Errorf("sheet: %w", err)
	}
	if len(data) > maxSheet {
		return nil, fmt.Errorf("sheet: larger than %d MB", maxSheet>>20)
	}
	text := strings.TrimPrefix(string(data), "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n") // the line ends of old Macintoshes, which are still offered
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "sep=") {
		text = rest // a line that some spreadsheets write and read
	}
	rows, numbers, err := readRows(text)
	if err != nil {
		return nil, fmt.Errorf("sheet: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("sheet: the file is empty")
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		name, _, _ = strings.Cut(strings.ToLower(name), "(")
		at[strings.TrimSpace(name)] = i
	}
	for _, need := range []string{colAnswer, colCriterion, "mark"} {
		if _, ok := at[need]; !ok {
			return nil, fmt.Errorf("sheet: row 1 has no column %q: is it a sheet, saved as CSV in UTF-8?", need)
		}
	}
	s := &Sheet{}
	seen := map[[2]string]int{}
	for i, row := range rows[1:] {
		n := numbers[i+1]
		if strings.TrimSpace(strings.Join(row, "")) == "" {
			continue
		}
		cell := func(column string) string {
			i, ok := at[column]
			if !ok || i >= len(row) {
				return ""
			}
			return plainText(row[i])
		}
		sr := sheetRow{
			answer: strings.TrimSpace(cell(colAnswer)), inquiry: cell(colInquiry), question: cell(colQuestion),
			criterion: strings.TrimSpace(cell(colCriterion)), text: cell(colText), points: cell(colPoints),
			file: cell(colFile), remark: strings.TrimSpace(cell(colRemark)),
		}
		if sr.answer == "" || sr.criterion == "" {
			return nil, fmt.Errorf("sheet: row %d does not say which answer or which criterion it is", n)
		}
		who := [2]string{sr.answer, sr.criterion}
		if seen[who] > 0 {
			return nil, fmt.Errorf("sheet: rows %d and %d are both about criterion %q of answer %s: take one out", seen[who], n, sr.criterion, sr.answer)
		}
		seen[who] = n
		if sr.mark, err = parseMark(cell("mark")); err != nil {
			return nil, fmt.Errorf("sheet: row %d, answer %s, criterion %q: %w", n, sr.answer, sr.criterion, err)
		}
		s.rows = append(s.rows, sr)
	}
	return s, nil
}

// readRows returns the rows of a table, and their numbers as a spreadsheet counts them,
// to which an empty line is a row. A quote that is never closed is an error: what
// follows would be taken for one cell, and marks in it would be gone.
func readRows(text string) (rows [][]string, numbers []int, err error) {
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = -1 // empty cells at the end may be missing
	in.Comma = separator(text)
	for n := 1; ; n++ {
		for at := in.InputOffset(); strings.HasPrefix(text[at:], "\n"); at++ {
			n++
		}
		row, err := in.Read()
		switch {
		case err == io.EOF:
			return rows, numbers, nil
		case err != nil:
			return nil, nil, fmt.Errorf("row %d: %w", n, err)
		}
		rows, numbers = append(rows, row), append(numbers, n)
	}
}

func parseMark(s string) (*float64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	mark, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	if err != nil || mark != 0 && mark != 0.5 && mark != 1 {
		return nil, fmt.Errorf("mark %q: want 0, 0.5 or 1, or nothing", cut(s, 40))
	}
	mark += 0 // of -0
	return &mark, nil
}

// separator is what the first line has most of.
func separator(text string) rune {
	line, _, _ := strings.Cut(text, "\n")
	return slices.MaxFunc([]rune{',', ';', '\t'}, func(a, b rune) int {
		return cmp.Compare(strings.Count(line, string(a)), strings.Count(line, string(b)))
	})
}

// CSVText returns a text as it can be in a cell: spreadsheets take what begins
// with =, +, -, @ or a tab for a formula, which may do more than compute. An
// apostrophe in front says that it is text.
func CSVText(s string) string {
	if isFormula(strings.TrimLeft(s, "'")) {
		return "'" + s
	}
	return s
}

// plainText undoes CSVText.
func plainText(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && isFormula(strings.TrimLeft(rest, "'")) {
		return rest
	}
	return s
}

func isFormula(s string) bool {
	return s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0]))
}
