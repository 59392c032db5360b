package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A recording that can be steered from another terminal listens at a socket of its
// own, in a directory that only its user can enter:
//
//	$XDG_RUNTIME_DIR/tracerag/PID, or /tmp/tracerag-UID/PID
//
// where PID is the recorded program's. One order comes in over a connection and
// one answer goes out, each a line of JSON.

// order is what a recording is asked to do.
type order struct {
	Do   string `json:"do"` // start, stop or snapshot
	Name string `json:"name,omitempty"`
}

// answer is what came of it.
type answer struct {
	Message string `json:"message,omitempty"`
	Trace   string `json:"trace,omitempty"` // id of the trace that was saved
	Error   string `json:"error,omitempty"`
}

// controlDir returns the directory of the sockets, which it makes.
func (a *app) controlDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "tracerag-"+strconv.Itoa(os.Getuid()))
	if run := a.getenv("XDG_RUNTIME_DIR"); run != "" {
		dir = filepath.Join(run, "tracerag")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// In a directory for everybody somebody else may have been there before.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory that only you can enter: remove it, or set XDG_RUNTIME_DIR", dir)
	}
	return dir, nil
}

// listen takes orders for the recorded process pid until stop is called.
func (a *app) listen(pid int, handle func(order) answer) (stop func(), err error) {
	dir, err := a.controlDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, strconv.Itoa(pid))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				var o order
				if err := json.NewDecoder(conn).Decode(&o); err != nil {
					return
				}
				_ = json.NewEncoder(conn).Encode(handle(o))
			}()
		}
	}()
	return func() { l.Close() }, nil // which removes the socket
}

// recordings are the processes that take orders now.
func (a *app) recordings() ([]int, error) {
	dir, err := a.controlDir()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range files {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		conn, err := net.Dial("unix", filepath.Join(dir, f.Name()))
		if err != nil {
			_ = os.Remove(filepath.Join(dir, f.Name())) // of a tracerag that was killed
			continue
		}
		conn.Close()
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids, nil
}

// tell gives an order to the recording of a process; 0 is the only one there is.
func (a *app) tell(pid int, o order) (answer, error) {
	pids, err := a.recordings()
	if err != nil {
		return answer{}, err
	}
	switch {
	case len(pids) == 0:
		return answer{}, errors.New("no program is recorded in windows now: tracerag run --window -- ./server, or tracerag attach PID")
	case pid == 0 && len(pids) > 1:
		return answer{}, fmt.Errorf("%d programs are recorded in windows now: choose one with --pid: %s", len(pids), strings.Trim(fmt.Sprint(pids), "[]"))
	case pid == 0:
		pid = pids[0]
	case !slices.Contains(pids, pid):
		return answer{}, fmt.Errorf("process %d is not recorded in windows; these are: %s", pid, strings.Trim(fmt.Sprint(pids), "[]"))
	}
	dir, err := a.controlDir()
	if err != nil {
		return answer{}, err
	}
	conn, err := net.Dial("unix", filepath.Join(dir, strconv.Itoa(pid)))
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	var ans answer
	err = json.NewEncoder(conn).Encode(o)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&ans)
	}
	if err != nil {
		return answer{}, fmt.Errorf("the recording of process %d has ended: %w", pid, err)
	}
	if ans.Error != "" {
		return answer{}, errors.New(ans.Error)
	}
	return ans, nil
}
