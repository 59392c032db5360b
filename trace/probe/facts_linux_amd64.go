package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"tracerag/trace/executable"
	"tracerag/trace/target"
)

// facts are what takes long to find out about a program and is the same as long as its
// file is: it is kept beside the plans. Whether the code in memory is the plan's is looked
// at in any case.
type facts struct {
	Sum []byte         // executable.File.Sum
	Own target.OwnCode // target.Target.OwnCode

	Shape shape
}

// shape is what must be known of a program's functions before it starts, if its plan is
// kept.
type shape struct {
	Start, End uint64 // link-time addresses of the first function's code and behind the last one's
	Race       bool   // executable.File.Race
}

// shapeOf returns the shape of a program whose functions are read.
func shapeOf(f *executable.File) shape {
	return shape{f.TextStart, f.Funcs[len(f.Funcs)-1].End, f.Race}
}

// factsMagic begins a file with facts. The key follows, then the SHA-256 of the rest, which
// is JSON.
const factsMagic = "tracerag facts file 2\n"

// mostFacts is more than such a file has, in bytes.
const mostFacts = 64 << 10

// settled is how long a file must not have been changed, so that its next change has
// another time for certain.
const settled = 2 * time.Second

// factsKey is what tells a program's file from all others, and from itself after a change:
// nobody can choose the time of the last one (ctime). And what finds the facts. ok is
// false if the system does not say.
func factsKey(planner string, info os.FileInfo) (key planKey, changed time.Time, ok bool) {
	if info == nil {
		return key, changed, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return key, changed, false
	}
	id := fmt.Sprintf("facts %s\n%d %d %d %d %d", planner, st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
	return sha256.Sum256([]byte(id)), time.Unix(0, max(st.Mtim.Nano(), st.Ctim.Nano())), true
}

func factsName(key planKey) string { return hex.EncodeToString(key[:16]) + ".facts" }

func (f *facts) encode(key planKey) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return bytes.Join([][]byte{[]byte(factsMagic), key[:], sum[:], text}, nil), nil
}

var errFacts = errors.New("damaged, or of another program")

func decodeFacts(b []byte, key planKey) (*facts, error) {
	rest, ok := bytes.CutPrefix(b, append([]byte(factsMagic), key[:]...))
	if !ok || len(rest) < sha256.Size {
		return nil, errFacts
	}
	text := rest[sha256.Size:]
	if sum := sha256.Sum256(text); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, errFacts
	}
	f := &facts{}
	if err := json.Unmarshal(text, f); err != nil || len(f.Sum) != sha256.Size || f.Shape.End <= f.Shape.Start {
		return nil, errFacts
	}
	return f, nil
}

// facts returns what is known of a program, from an earlier run where that is possible. It
// does not matter if they cannot be kept. An error is about the program's file.
func (c *plans) facts(t *target.Target) (*facts, error) {
	key, _, ok := factsKey(c.planner, t.Binary.Info())
	if ok {
		if f, err := decodeFacts(c.read(factsName(key), mostFacts), key); err == nil {
			return f, nil
		}
	}
	if err := t.Ready(); err != nil {
		return nil, err
	}
	sum, err := t.Binary.Sum()
	if err != nil {
		return nil, err
	}
	own, err := t.OwnCode()
	if err != nil {
		return nil, err
	}
	f := &facts{sum[:], own, shapeOf(t.Binary)}
	if ok && c.unchanged(t.Binary, key) {
		if b, err := f.encode(key); err == nil && len(b) <= mostFacts && c.write(factsName(key), b) {
			c.prune() // a program that is built again and again has new facts, and one plan
		}
	}
	return f, nil
}

// unchanged tells if the program's file is still the one of a key, and was not changed so
// lately that a change after this one could have the same time.
func (c *plans) unchanged(f *executable.File, key planKey) bool {
	info, err := os.Stat(f.Path)
	if err != nil {
		return false
	}
	now, changed, ok := factsKey(c.planner, info)
	return ok && now == key && time.Since(changed) > settled
}
