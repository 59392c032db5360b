package affected

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tracerag/record"
	"tracerag/trace"
	"tracerag/trace/store"
)

// Code that nobody has read is recorded in a sandbox: by a process there, which has a Request in a directory, and leaves there
// what it has recorded. Each package is there as soon as it is recorded, whatever ends the process.
//
//	DIR/
//	    request.json     Request
//	    recorded.jsonl   a line for each package
//	    0.trace          its trace

// Request is what is to be recorded.
type Request struct {
	Packages []Package
	Flags    []string // of Recorder
	Limit    time.Duration
}

const (
	requestFile  = "request.json"
	recordedFile = "recorded.jsonl"
)

// recordedLine is one of what was recorded.
type recordedLine struct {
	Package string                   `json:"package"`
	Trace   string                   `json:"trace,omitempty"` // file
	Took    map[string]time.Duration `json:"took,omitempty"`
	Wrong   string                   `json:"wrong,omitempty"`
}

// Write puts a request into a directory.
func (r Request) Write(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, requestFile), text, 0o600)
}

// Inner carries out the rest of a command line of the process that records: the directory of a Request; or "job", the directory of a
// record.Job and a test program, which the go command starts. self is the command line before that. It returns the exit code.
func Inner(ctx context.Context, self, args []string) int {
	var err error
	code := 0
	switch {
	case len(args) > 2 && args[0] == "job":
		code, err = Obey(ctx, args[1], args[2:])
	case len(args) == 1:
		err = serve(ctx, self, args[0])
	default:
		err = errors.New("record tests: want the directory of a request")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return code
}

// serve records what a request wants.
func serve(ctx context.Context, self []string, dir string) error {
	var r Request
	text, err := os.ReadFile(filepath.Join(dir, requestFile))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return fmt.Errorf("record tests: %w", err)
	}
	out, err := os.OpenFile(filepath.Join(dir, recordedFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record tests: %w", err)
	}
	defer out.Close()
	recorder := &Recorder{Self: slices.Concat(self, []string{"job"}), Flags: r.Flags, Limit: r.Limit}
	n := 0
	var lost error
	err = recorder.Record(ctx, r.Packages, func(rec Recorded) {
		line := recordedLine{Package: rec.Package, Took: rec.Took}
		if rec.Err != nil {
			line.Wrong = rec.Err.Error()
		} else if rec.Trace != nil {
			line.Trace = strconv.Itoa(n) + ".trace"
			n++
			if err := writeTrace(filepath.Join(dir, line.Trace), rec.Trace); err != nil {
				line.Trace, line.Wrong = "", err.Error()
			}
		}
		text, err := json.Marshal(line)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		lost = errors.Join(lost, err)
	})
	return errors.Join(err, lost)
}

func writeTrace(name string, t *trace.Trace) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(f), f.Close())
}

// Read reports what was recorded into a directory. The process that wrote it ran code that nobody has read: what
// can't be read was not recorded.
func Read(dir string, done func(Recorded)) error {
	f, err := openRegular(filepath.Join(dir, recordedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var l recordedLine
		if json.Unmarshal(s.Bytes(), &l) != nil {
			continue
		}
		r := Recorded{Package: l.Package, Took: l.Took}
		switch {
		case l.Wrong != "":
			r.Err = errors.New(l.Wrong)
		case l.Trace != "" && filepath.Base(l.Trace) == l.Trace:
			if r.Trace, r.Err = readTrace(filepath.Join(dir, l.Trace)); r.Err != nil {
				r.Trace = nil
			}
		}
		done(r)
	}
	return s.Err()
}

func readTrace(name string) (*trace.Trace, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.Read(f)
}

// openRegular opens a file, and no link or pipe in its place. Nobody writes there any more.
func openRegular(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", filepath.Base(name))
	}
	return os.Open(name)
}

// Obey records a test program in the place of go test's, as a record.Job says.
func Obey(ctx context.Context, dir string, args []string) (code int, err error) {
	j, err := record.OpenJob(dir)
	if err != nil {
		return 0, err
	}
	if err = os.Chdir(j.Spec.Dir); err == nil {
		r := &record.Runner{Spec: j.Spec, Store: store.Open(j.Spec.Store), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Events: func(record.Event) {}}
		err = j.Run(ctx, r, args)
	}
	if err != nil {
		code = 125
		if log := j.Log(); log != nil {
			fmt.Fprintln(log, err)
		}
	}
	return j.End(code, err != nil)
}
