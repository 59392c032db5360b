//go:build unix

package postgrestest

import (
	"io"
	"os/exec"
	"syscall"
)

// cleanUp waits until its input ends, which it does with the process that holds the other end of the pipe, and then
// stops the server and removes its files. The number in the file is that of the server only if its command line says
// so: a server that was killed leaves the file.
const cleanUp = `cat >/dev/null
pid=$(head -n 1 data/postmaster.pid 2>/dev/null)
case $(ps -o args= -p "${pid:-0}" 2>/dev/null) in
*" $PWD/data"*)
	kill -QUIT "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
esac
dir=$PWD; cd / && rm -rf "$dir"`

// watch has a process clean up after this one. A deferred call, or one after the tests, does not happen when a test
// panics, runs into its timeout, or is killed. A signal at the parent's death would be that of a thread's, and
// leave the files.
func watch(dir string) (end func(), err error) {
	c := exec.Command("/bin/sh", "-c", cleanUp)
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not in reach of the terminal's Ctrl-C
	var in io.WriteCloser
	if in, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close()
		_ = c.Wait()
	}, nil
}
