package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tracerag/filelock"
)

// unfinished begins the names of the directories in which trials work.
const unfinished = "trial-"

// begin makes a directory for a trial below the scratch directory, and removes what killed processes
// left there. Both happen under the lock of the scratch directory. A running process keeps its own
// directory locked.
func begin(ctx context.Context, scratch string) (dir string, end func() error, err error) {
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return "", nil, fmt.Errorf("trial: making the scratch directory: %w", full(err, scratch))
	}
	unlock, err := filelock.Wait(ctx, filepath.Join(scratch, "lock"), nil)
	if err != nil {
		return "", nil, fmt.Errorf("trial: locking %s: %w", scratch, err)
	}
	defer unlock()
	sweep(scratch)
	if dir, err = os.MkdirTemp(scratch, unfinished+"*"); err != nil {
		return "", nil, fmt.Errorf("trial: %w", full(err, scratch))
	}
	release, _ := filelock.Try(dir)
	return dir, func() error {
		err := removeAll(dir)
		release()
		return err
	}, nil
}

// sweep removes unlocked directories of trials.
func sweep(scratch string) {
	entries, err := os.ReadDir(scratch)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		dir := filepath.Join(scratch, e.Name())
		if info, err := e.Info(); err != nil || !filelock.Locks && time.Since(info.ModTime()) < filelock.LeftAfter {
			continue
		}
		if release, ok := filelock.Try(dir); ok {
			_ = removeAll(dir)
			release()
		}
	}
}

// removeAll removes a directory with all that is in it, also what a test has made read-only.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
			if err != nil { // it could not be read: once more
				sub, _ := os.ReadDir(path)
				for _, s := range sub {
					_ = removeAll(filepath.Join(path, s.Name()))
				}
			}
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// full says of an error that a disk is full what can be done.
func full(err error, where string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &DiskFull{Where: where, Err: err}
	}
	return err
}

// DiskFull is the error of a scratch directory that has no room for a copy of the tree.
type DiskFull struct {
	Where string
	Err   error
}

func (e *DiskFull) Error() string {
	return fmt.Sprintf("the disk of %s is full: free space there, or choose another scratch directory (%v)", e.Where, e.Err)
}

func (e *DiskFull) Unwrap() error { return e.Err }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
