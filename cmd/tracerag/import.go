package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tracerag/memory"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/profiles"
	"tracerag/trace/target"
)

const importHelp = `
import copies a trace from a file into the store. A pprof profile of another tool,
such as a CPU profile, becomes a sampled trace. It shows which functions ran, but not
how often or in which order, and every output of it says so.

The profiled program names the modules of the functions. import looks for it where
the profile says, and uses it if it is the same build.`

func runImport(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, importHelp)
	sampleType := f.String("sample-type", "", "of a profile with several: take this `TYPE` (default: samples, or the first)")
	std := f.Bool("std", false, "of a profile: keep the standard library's functions")
	program := f.String("program", "", "of a profile: the program is in `FILE` (default: where the profile says)")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "name one file: tracerag import cpu.pprof")
	}
	o := profiles.Options{SampleType: *sampleType}
	if *std {
		o.Records = func(string) bool { return true }
	}
	tr, err := a.readAny(f.Arg(0), *program, o)
	if err != nil {
		return a.fail(fmt.Errorf("%s: %w", f.Arg(0), err))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	e, err := s.Save(tr)
	if err != nil {
		return a.fail(err)
	}
	kind := "a recorded trace"
	if tr.Sampled {
		kind = "a sampled trace"
	}
	a.note("imported %s with %s as %s", kind, phrase.Plural(len(tr.Nodes), "node", "nodes"), e.ID)
	return exitOK
}

// readAny reads a trace, or turns a profile into one.
func (a *app) readAny(path, program string, o profiles.Options) (*trace.Trace, error) {
	limit, err := a.readLimit()
	if err != nil {
		return nil, err
	}
	memory.CollectWithin(limit.Memory)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if tr, err := limit.Read(file); !errors.Is(err, trace.ErrForeign) {
		return tr, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	p, err := limit.ReadProfile(file)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil {
		o.MaxNodes = limit.Nodes(info.Size())
	}
	at, build := "", ""
	if len(p.Mapping) > 0 { // the first is the program, by pprof's convention
		at, build = p.Mapping[0].File, p.Mapping[0].BuildID
	}
	switch {
	case program != "":
		o.Program, err = a.profiled(program, build)
	case build != "" && filepath.IsAbs(at):
		var missing error
		if o.Program, missing = a.profiled(at, build); missing != nil {
			a.note("the profile's program cannot tell its modules: %v", missing)
		}
	}
	if err != nil {
		return nil, err
	}
	return profiles.Convert(p, o)
}

// profiled returns what the program at path says of itself, if it is the one that
// a profile with this build id was taken of. A profile without a build id fits
// any program.
func (a *app) profiled(path, build string) (trace.Program, error) {
	t, err := target.Find([]string{path}, a.cwd, []string{"all"}, nil)
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
