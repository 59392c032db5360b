package profiles

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tracerag/trace"
	"tracerag/trace/target"
)

// From is where a trace is read from.
type From struct {
	File string
	// Program is that which a profile was taken of; "": it is looked for where the
	// profile says.
	Program string
	Dir     string      // working directory
	Limit   trace.Limit // of memory
}

// Read reads a trace, or turns a profile into one. Of a profile whose program cannot tell
// its modules, missing says why.
func Read(from From, o Options) (tr *trace.Trace, missing, err error) {
	file, err := os.Open(from.File)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if tr, err := from.Limit.Read(file); !errors.Is(err, trace.ErrForeign) {
		return tr, nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	p, err := from.Limit.ReadProfile(file)
	if err != nil {
		return nil, nil, err
	}
	if info, err := file.Stat(); err == nil {
		o.Fits = func(nodes int) error { return from.Limit.FitsNodes(info.Size(), nodes) }
	}
	at, build := "", ""
	if len(p.Mapping) > 0 { // the first is the program, by pprof's convention
		at, build = p.Mapping[0].File, p.Mapping[0].BuildID
	}
	switch {
	case from.Program != "":
		o.Program, err = profiled(from.Program, from.Dir, build)
	case build != "" && filepath.IsAbs(at):
		o.Program, missing = profiled(at, from.Dir, build)
	}
	if err != nil {
		return nil, nil, err
	}
	tr, err = Convert(p, o)
	return tr, missing, err
}

// profiled returns what the program at path says of itself, if it is the one that
// a profile with this build id was taken of. A profile without a build id fits
// any program.
func profiled(path, dir, build string) (trace.Program, error) {
	t, err := target.Find([]string{path}, dir, []string{"all"}, nil)
	if err != nil {
		return trace.Program{}, err
	}
	p := t.NewTrace("").Program
	if build == "" || build == p.BuildID {
		return p, nil
	}
	if gnu := gnuBuildID(t.Path); gnu != build {
		return trace.Program{}, fmt.Errorf("%s is another build than the one that was profiled (build id %s, not %s)",
			path, cmp.Or(gnu, p.BuildID, "unknown"), build)
	}
	return p, nil
}

// gnuBuildID returns the build id by which profilers name an ELF program: that of
// the note which the linker makes, in hex. It is not Go's own build id, which
// trace/executable prefers. It is "" when the program has none.
func gnuBuildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	data, err := s.Data()
	if err != nil || len(data) < 16 {
		return ""
	}
	// A note: the sizes of name and content, a kind, the name, the content.
	name, size := f.ByteOrder.Uint32(data), f.ByteOrder.Uint32(data[4:])
	content := data[16:]
	if name != 4 || !bytes.Equal(data[12:16], []byte("GNU\x00")) || uint64(size) > uint64(len(content)) {
		return ""
	}
	return hex.EncodeToString(content[:size])
}
