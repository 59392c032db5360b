// Package results is the directory in which an experiment's results are kept, so
// that one that was broken off goes on where it was: no question is asked twice and
// no answer is lost.
//
//	DIR/
//	    .gitignore                     "*"
//	    lock                           who holds it works here
//	    traces/                        the recorded runs, a store of traces
//	    runs/EXPERIMENT/RUN.json       which of them a run is, and of what it was made
//	    prompts/EXPERIMENT/INQUIRY.VARIANT.md
//	    answers/EXPERIMENT/ID.json     an answer
//	    asking/ID.json                 a question that is under way
//	    marks/EXPERIMENT/ID.json       what a judge gave an answer
//
// A file is there whole or not at all. An answer's ID tells nothing about it but is
// the same in each run: it is made of the cell and of what was sent ([ID]). When the
// prompt changes, so does the ID, and the answer to the earlier prompt stays beside
// the new one and does not count.
//
// Prompts and answers hold source code: the directory is readable by its owner alone.
package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/atomicfile"
	"tracerag/eval"
	"tracerag/filelock"
)

// Dir is such a directory. Its methods may be called by several goroutines.
type Dir struct {
	path   string
	unlock func()
}

// Open opens the directory for one process at a time, and makes it if it is missing.
// While another process works in it, wait is called once (unless nil), and Open waits.
func Open(path string, wait func()) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	d := &Dir{path: path}
	if err := d.replace(".gitignore", []byte("*\n")); err != nil {
		return nil, err
	}
	unlock, err := filelock.Wait(context.Background(), d.Path("lock"), wait)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	d.unlock = unlock
	return d, nil
}

// Close lets others work in the directory.
func (d *Dir) Close() { d.unlock() }

// Path returns the path of the directory, or of something in it.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Traces is the directory of the store of traces.
func (d *Dir) Traces() string { return d.Path("traces") }

// ID returns the ID of the answer to what is sent in a cell: the prompt, and what
// else decides about the answer, such as a temperature.
func ID(c eval.Cell, sent ...string) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	_ = enc.Encode(c) // of strings and numbers: it cannot fail, and neither can a hash
	_ = enc.Encode(sent)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Answers returns the answers of an experiment by ID. A file that cannot be read is
// named by the error and does not hide the others.
func (d *Dir) Answers(experiment string) (map[string]eval.Answer, error) {
	return load[eval.Answer](d.Path("answers", experiment))
}

// SaveAnswer saves an answer, and forgets that it was asked for.
func (d *Dir) SaveAnswer(id string, a eval.Answer) error {
	if err := d.save(a, "answers", a.Experiment, id+".json"); err != nil {
		return err
	}
	return d.End(id)
}

// AnswerPath is where the answer is, relative to the directory.
func AnswerPath(experiment, id string) string {
	return filepath.Join("answers", experiment, id+".json")
}

// MarksPath is where a judge's marks are, relative to the directory.
func MarksPath(experiment, id string) string { return filepath.Join("marks", experiment, id+".json") }

// Asking is a question that was sent and whose answer did not come home.
type Asking struct {
	What string  `json:"what"` // for messages
	Most float64 `json:"most"` // what it may have cost, in US dollars
}

// Begin notes that a question is going to be sent. If the process ends before
// [Dir.End], it is known that the question was paid for.
func (d *Dir) Begin(id string, a Asking) error { return d.save(a, "asking", id+".json") }

// End notes that no answer will come any more.
func (d *Dir) End(id string) error {
	err := os.Remove(d.Path("asking", id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Lost returns the questions that earlier processes had sent and whose answers did not
// come home. They stay in the list until [Dir.SaveLost] moves them into what was spent.
func (d *Dir) Lost() (map[string]Asking, error) {
	lost, err := load[Asking](d.Path("asking"))
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	for _, kind := range []string{"answers", "marks"} {
		experiments, err := d.experiments(kind)
		if err != nil {
			return nil, err
		}
		for _, e := range experiments {
			for id := range lost {
				if _, err := os.Stat(d.Path(kind, e, id+".json")); err != nil {
					continue
				}
				// The process ended between the two steps of saving it.
				if err := d.End(id); err != nil {
					return nil, err
				}
				delete(lost, id)
			}
		}
	}
	return lost, nil
}

// experiments are those that have answers, or marks.
func (d *Dir) experiments(kind string) ([]string, error) {
	entries, err := os.ReadDir(d.Path(kind))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() { // and nothing that a file manager leaves
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Spent is what all experiments in the directory have cost in US dollars: their
// answers and marks, also those that do not count any more, and the questions whose
// answers were lost.
func (d *Dir) Spent() (float64, error) {
	sum, err := d.lost()
	if err != nil {
		return 0, err
	}
	for _, kind := range []string{"answers", "marks"} {
		experiments, err := d.experiments(kind)
		if err != nil {
			return 0, err
		}
		for _, e := range experiments {
			saved, err := load[struct{ Cost *float64 }](d.Path(kind, e))
			if err != nil {
				return 0, err
			}
			for _, id := range slices.Sorted(maps.Keys(saved)) { // in order, since sums of floats depend on it
				if c := saved[id].Cost; c != nil {
					sum += *c
				}
			}
		}
	}
	return sum, nil
}

// lost is what questions may have cost whose answers were lost.
func (d *Dir) lost() (float64, error) {
	var s struct{ Lost float64 }
	err := d.read(&s, "lost.json")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s.Lost, err
}

// SaveLost adds the lost questions to what was spent, and empties their list.
func (d *Dir) SaveLost(lost map[string]Asking) error {
	if len(lost) == 0 {
		return nil
	}
	sum, err := d.lost()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		sum += lost[id].Most
	}
	if err := d.save(struct{ Lost float64 }{sum}, "lost.json"); err != nil {
		return err
	}
	for id := range lost {
		if err := d.End(id); err != nil {
			return err
		}
	}
	return nil
}

// Judged is what a judge gave an answer.
type Judged struct {
	Answer  string       `json:"answer"` // its [eval.Answer.ID]
	Judge   string       `json:"judge"`  // the model
	Grading eval.Grading `json:"grading"`
	Text    string       `json:"text"` // what the judge said
	Usage   *eval.Usage  `json:"usage,omitempty"`
	Cost    *float64     `json:"cost,omitempty"`
}

// Judged returns what judges gave an experiment's answers, by the IDs of the judges'
// answers.
func (d *Dir) Judged(experiment string) (map[string]Judged, error) {
	return load[Judged](d.Path("marks", experiment))
}

// SaveJudged saves what a judge gave an answer.
func (d *Dir) SaveJudged(experiment, id string, j Judged) error {
	if err := d.save(j, "marks", experiment, id+".json"); err != nil {
		return err
	}
	return d.End(id)
}

// Run says which trace a run is.
type Run struct {
	Trace string `json:"trace"` // its ID in the store
	Of    string `json:"of"`    // a hash of all that it was made of
}

// Run returns which trace a run is, the zero Run if it was not recorded.
func (d *Dir) Run(experiment, name string) (Run, error) {
	var r Run
	err := d.read(&r, "runs", experiment, name+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return Run{}, nil
	}
	return r, err
}

// SaveRun saves which trace a run is.
func (d *Dir) SaveRun(experiment, name string, r Run) error {
	return d.save(r, "runs", experiment, name+".json")
}

// SavePrompt saves a prompt for people to look at.
func (d *Dir) SavePrompt(experiment, inquiry string, v eval.Variant, text string) error {
	return d.replace(filepath.Join("prompts", experiment, inquiry+"."+string(v)+".md"), []byte(text))
}

// Save writes a file of the directory, such as a table.
func (d *Dir) Save(name string, data []byte) error { return d.replace(name, data) }

func (d *Dir) save(v any, elem ...string) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return d.replace(filepath.Join(elem...), append(data, '\n'))
}

// replace writes a file so that a process that ends in the middle, or a machine that
// does, leaves the old one or none.
func (d *Dir) replace(name string, data []byte) error {
	if err := replace(d.Path(name), data); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

func replace(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return atomicfile.Save(name, data)
}

func (d *Dir) read(v any, elem ...string) error { return read(d.Path(elem...), v) }

func read(name string, v any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w: remove it, and it is made anew", name, err)
	}
	return nil
}

// load reads all files of a directory, by their names.
func load[T any](dir string) (map[string]T, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results: %w", err)
	}
	all := map[string]T{}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		var v T
		if err := read(filepath.Join(dir, e.Name()), &v); err != nil {
			errs = append(errs, fmt.Errorf("results: %w", err))
			continue
		}
		all[id] = v
	}
	return all, errors.Join(errs...)
}
