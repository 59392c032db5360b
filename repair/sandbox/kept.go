package sandbox

import (
	"bytes"
	"io"
	"sync"
)

// ended is why a command's context was done.
type ended Reason

func (e ended) Error() string { return "the limit on " + string(e) + " was reached" }

// kept passes on output up to a limit, which standard output and standard error share.
type kept struct {
	mu      sync.Mutex
	limited bool
	left    int64
	full    func()
	denied  []string
	line    []byte // the unfinished last line
}

func newKept(c Command, full func()) *kept {
	return &kept{left: c.Output, limited: c.Output > 0, full: full}
}

func (k *kept) writer(w io.Writer) io.Writer {
	if w == nil {
		w = io.Discard
	}
	return &keptWriter{k, w}
}

type keptWriter struct {
	*kept
	w io.Writer
}

// Write never fails by the limit: the command must not see a broken pipe before it is killed.
func (k *keptWriter) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.scan(p)
	q := p
	if k.limited {
		if int64(len(q)) > k.left {
			q = q[:k.left]
			k.full()
		}
		k.left -= int64(len(q))
	}
	if len(q) > 0 {
		if _, err := k.w.Write(q); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// denials are the words by which programs say that the sandbox refused something.
var denials = [][]byte{[]byte("read-only file system"), []byte("network is unreachable")}

// scan looks for denials in the output: the kernel doesn't tell who was refused what.
func (k *kept) scan(p []byte) {
	for len(p) > 0 && len(k.denied) < 8 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		k.line = append(k.line, line[:min(len(line), max(0, 512-len(k.line)))]...)
		if p = rest; !whole {
			return
		}
		low := bytes.ToLower(k.line)
		for _, d := range denials {
			if bytes.Contains(low, d) {
				k.denied = append(k.denied, "its output: "+string(bytes.TrimSpace(k.line)))
				break
			}
		}
		k.line = k.line[:0]
	}
}

// refused is what the output says was refused.
func (k *kept) refused() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.denied
}
