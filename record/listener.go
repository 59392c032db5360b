package record

import (
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
)

// listener keeps the beginning of what a program prints. That goes through a pipe and not
// into a file, which could fill the disk, and be left there.
type listener struct {
	to    *os.File // the program's end
	ended chan struct{}

	mu   sync.Mutex
	text []byte
}

func newListener() (*listener, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l := &listener{to: to, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		// To the end, even if that is the end of what the program has started: for
		// a write into a pipe without a reader would end its process.
		defer from.Close()
		piece := make([]byte, 32<<10)
		for {
			n, err := from.Read(piece)
			l.mu.Lock()
			l.text = append(l.text, piece[:min(n, listened-len(l.text))]...)
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return l, nil
}

// listened is how much a listener keeps.
const listened = 16 << 10

// end returns what was heard when the program has ended.
func (l *listener) end() string {
	l.to.Close()
	select {
	case <-l.ended:
	case <-time.After(interruptDelay): // something that it started has the pipe still
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// firstLine is the first line of a text that is not empty, short enough for a message.
func firstLine(text string) string {
	const most = 200
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line))
		if runes := []rune(line); len(runes) > most {
			line = string(runes[:most]) + "..."
		}
		if line != "" {
			return line
		}
	}
	return ""
}
