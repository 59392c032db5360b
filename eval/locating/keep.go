package locating

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"tracerag/eval/results"
	"tracerag/locate/guided"
)

// keeper keeps outcomes in a directory of results.
type keeper struct{ dir *results.Dir }

// measured is part of each key. It goes up when outcomes of earlier versions do not count any more.
const measured = 2

// key is a hash of all that an outcome depends on: the case, the strategy and its model, the state of the
// sources, and the versions of what locates.
func key(c *Case, how guided.How, model, state, version string) string {
	data, _ := json.Marshal([]any{measured, c, how, model, state, version}) // of strings and numbers: it cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(data))[:24]
}

func (k keeper) name(key string) string { return path.Join("outcomes", key+".json") }

// outcome returns what was kept; nil if nothing was.
func (k keeper) outcome(key string) (*Outcome, error) {
	o := new(Outcome)
	ok, err := k.read(k.name(key), o)
	if !ok {
		o = nil
	}
	return o, err
}

func (k keeper) save(key string, o *Outcome) error { return k.write(k.name(key), o) }

// paid is what was spent in this directory.
type paid struct {
	Dollars float64 `json:"cost_usd"`
}

func (k keeper) spent() (float64, error) {
	var p paid
	_, err := k.read("spent.json", &p)
	return p.Dollars, err
}

func (k keeper) saveSpent(dollars float64) error {
	return k.write("spent.json", paid{dollars})
}

func (k keeper) read(name string, v any) (ok bool, err error) {
	file := k.dir.Path(name)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return false, fmt.Errorf("%s is damaged: %w: remove it, and it is measured again", file, err)
	}
	return true, nil
}

func (k keeper) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return k.dir.Save(name, append(data, '\n'))
}
