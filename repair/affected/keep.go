package affected

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tracerag/atomicfile"
)

// version is of what is kept. Another one's files are not read.
const version = 1

// program is what is known of a package's test program. It is kept beside the store of package knowledge, and not in
// it: a run there is of one test or of one program, and its edges do not say which of many tests made a call.
type program struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	Package string `json:"package"`
	Tests   []test `json:"tests"`
	// Unseen are functions whose calls could not be watched.
	Unseen []string  `json:"unseen,omitempty"`
	Ran    []reached `json:"ran"`
	Failed string    `json:"failed,omitempty"` // why nothing is known

	index map[declared]int
}

// test is one of a package's.
type test struct {
	Name    string  `json:"n"`
	Seconds float64 `json:"s"`
	// Seen says that the recorded run came to it.
	Seen bool `json:"seen,omitempty"`
}

// mostKept bounds a file that is read: ten times of what the largest of the measured programs takes.
const mostKept = 256 << 20

func keptName(dir, pkg string) string {
	return filepath.Join(dir, strings.NewReplacer("/", "+", "+", "++").Replace(pkg)+".json.gz")
}

// load reads what is kept of a package; nil: nothing is, under this key. A damaged file is as good as none.
func load(dir, pkg, key string) *program {
	f, err := os.Open(keptName(dir, pkg))
	if err != nil {
		return nil
	}
	defer f.Close()
	p, err := decode(f)
	if err != nil || p.Key != key || p.Package != pkg {
		return nil
	}
	return p
}

func decode(r io.Reader) (*program, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, mostKept+1))
	if err != nil {
		return nil, err // the checksum, too
	}
	p := &program{}
	switch {
	case len(text) > mostKept:
		return nil, errors.New("too large")
	case json.Unmarshal(text, p) != nil:
		return nil, errors.New("not JSON")
	case p.Version != version:
		return nil, fmt.Errorf("version %d", p.Version)
	}
	for _, d := range p.Ran {
		for _, r := range d.Tests {
			if r.Test < 0 || r.Test >= len(p.Tests) {
				return nil, fmt.Errorf("%s: no test %d", d.declared, r.Test)
			}
		}
	}
	p.ready()
	return p, nil
}

func (p *program) ready() {
	p.index = make(map[declared]int, len(p.Ran))
	for i, d := range p.Ran {
		p.index[d.declared] = i
	}
}

// save keeps a program for the next time.
func save(dir string, p *program) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err = z.Write(text); err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Save(keptName(dir, p.Package), b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("keep which tests of %s ran what: %w", p.Package, err)
	}
	return nil
}
