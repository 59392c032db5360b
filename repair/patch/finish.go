package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"tracerag/atomicfile"
)

// begun is what a journal says of a Patch that is being written.
type begun struct {
	Dir   string   `json:"dir"`
	Files []File   `json:"files"`
	Made  []string `json:"made,omitempty"` // directories that did not exist, the innermost last
}

// journal is what is noted before the Patch is written.
func (p *Patch) journal(dir string) ([]byte, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	b := begun{Dir: t.dir, Files: p.Files}
	for _, f := range p.Files {
		var missing []string
		for d := path.Dir(f.Name); d != "." && d != "/"; d = path.Dir(d) {
			if _, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(d))); err == nil {
				break
			}
			missing = append([]string{d}, missing...)
		}
		b.Made = append(b.Made, missing...)
	}
	return json.Marshal(b)
}

// WriteKept is [Patch.Write] for a process that may be killed: until all is done, a journal says what
// it was about, and [Finish] does the rest. Nobody else may use the journal meanwhile.
func (p *Patch) WriteKept(dir, journal string) error {
	data, err := p.journal(dir)
	if err == nil {
		err = atomicfile.Save(journal, data)
	}
	if err != nil {
		return fmt.Errorf("can't note what is being written: %w", err)
	}
	return errors.Join(p.Write(dir), os.Remove(journal))
}

// HalfWrittenError says that a killed process left a Patch half written, and that it can't be completed.
type HalfWrittenError struct {
	Done, Left []string
	Err        error
}

func (e *HalfWrittenError) Error() string {
	return fmt.Sprintf("a change was put in place by half, since tracerag was killed: %s changed, %s did not: %v", strings.Join(e.Done, ", "), strings.Join(e.Left, ", "), e.Err)
}

func (e *HalfWrittenError) Unwrap() error { return e.Err }

// Finish completes what a killed [Patch.WriteKept] began in a directory or one above it, and removes what it left. It returns the
// files that it changed. If no file was changed yet, none is.
func Finish(dir, journal string) ([]string, error) {
	data, err := os.ReadFile(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var b begun
	if err := json.Unmarshal(data, &b); err != nil || b.Dir == "" {
		return nil, fmt.Errorf("%s was not written by tracerag: remove it", journal)
	}
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(b.Dir, t.dir); err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is about %s: remove it", journal, b.Dir)
	}
	if t, err = openTree(b.Dir); err != nil {
		return nil, err
	}
	var rest Patch
	half := &HalfWrittenError{}
	for _, f := range b.Files {
		name, err := t.inside(f.Name)
		if err != nil {
			return nil, err
		}
		t.sweep(name, f)
		now, err := t.read(name)
		if err == nil && equalFile(now, f.After) {
			half.Done = append(half.Done, name)
			continue
		}
		rest.Files = append(rest.Files, f)
		half.Left = append(half.Left, name)
	}
	if len(half.Done) == 0 {
		for i := len(b.Made) - 1; i >= 0; i-- {
			if name, err := t.inside(b.Made[i] + "/x"); err == nil {
				_ = os.Remove(filepath.Join(t.dir, filepath.FromSlash(path.Dir(name)))) // if it is empty
			}
		}
		return nil, os.Remove(journal)
	}
	if err := rest.Write(b.Dir); err != nil {
		half.Err = err
		return nil, errors.Join(half, os.Remove(journal))
	}
	return half.Left, os.Remove(journal)
}

func equalFile(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

var besides = regexp.MustCompile(`^\.[0-9a-f]{8}\.new$`)

// sweep removes the files that a killed process left beside one.
func (t *tree) sweep(name string, f File) {
	dir := filepath.Join(t.dir, filepath.FromSlash(path.Dir(name)))
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), path.Base(name))
		if !ok || !besides.MatchString(rest) || !e.Type().IsRegular() {
			continue
		}
		// What it had not written to its end begins as what it was to be.
		text, err := t.read(path.Join(path.Dir(name), e.Name()))
		if err == nil && (f.Before != nil && bytes.HasPrefix(f.Before, text) || f.After != nil && bytes.HasPrefix(f.After, text)) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
