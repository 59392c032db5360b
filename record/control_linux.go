package record

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
	"syscall"
	"time"
)

// A recording that can be steered from another terminal listens at a socket of its
// own, in a directory that only its user can enter:
//
//	$XDG_RUNTIME_DIR/tracerag/PID, or /tmp/tracerag-UID/PID
//
// where PID is the recorded program's. One request comes in over a connection and
// one response goes out, each a line of JSON.

// controlDir returns the directory of the sockets, which it makes.
func controlDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "tracerag-"+strconv.Itoa(os.Getuid()))
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
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

// listen takes requests for the recorded process pid until stop is called.
func listen(pid int, handle func(Request) (Event, error)) (stop func(), err error) {
	dir, err := controlDir()
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
				_ = conn.SetDeadline(time.Now().Add(requestTime))
				var q Request
				if err := json.NewDecoder(conn).Decode(&q); err != nil {
					return
				}
				_ = json.NewEncoder(conn).Encode(responseOf(handle(q)))
			}()
		}
	}()
	return func() { l.Close() }, nil // which removes the socket
}

// recordings are the processes that take requests now.
func recordings() ([]int, error) {
	dir, err := controlDir()
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

// Ask sends a request to the recording of a process, 0 for the only one, and returns
// what came of it: a [WindowStarted] or a [WindowSaved].
func Ask(pid int, q Request) (Event, error) {
	pids, err := recordings()
	if err != nil {
		return nil, err
	}
	switch {
	case pid == 0 && len(pids) == 1:
		pid = pids[0]
	case !slices.Contains(pids, pid):
		return nil, &ProcessError{Pid: pid, Recordings: pids}
	}
	dir, err := controlDir()
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("unix", filepath.Join(dir, strconv.Itoa(pid)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var res response
	err = json.NewEncoder(conn).Encode(q)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&res)
	}
	if err != nil {
		return nil, fmt.Errorf("the recording of process %d has ended: %w", pid, err)
	}
	return res.event()
}
