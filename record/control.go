package record

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Request is what another process asks of a recording.
type Request struct {
	Do   string `json:"do"` // Start, Stop or Snapshot
	Name string `json:"name,omitempty"`
}

// What a Request may ask for.
const (
	Start    = "start"    // a window
	Stop     = "stop"     // the window, and save it
	Snapshot = "snapshot" // save what ran until now, and go on
)

// response is what came of it.
type response struct {
	Saved *WindowSaved `json:"saved,omitempty"` // nil: a window was started
	Name  string       `json:"name,omitempty"`  // of that window
	// One of these says why it was not done.
	State *WindowError `json:"state,omitempty"`
	Error string       `json:"error,omitempty"`
}

// responseOf puts what came of a request into words for another process.
func responseOf(e Event, err error) (out response) {
	var state *WindowError
	switch {
	case errors.As(err, &state):
		out.State = state
	case err != nil:
		out.Error = err.Error()
	}
	switch e := e.(type) {
	case WindowSaved:
		out.Saved = &e
	case WindowStarted:
		out.Name = e.Name
	}
	return out
}

// event is the reverse of responseOf.
func (r response) event() (Event, error) {
	switch {
	case r.State != nil:
		return nil, r.State
	case r.Error != "":
		return nil, errors.New(r.Error)
	case r.Saved != nil:
		return *r.Saved, nil
	}
	return WindowStarted{Name: r.Name}, nil
}

// Check reports what is wrong with a request.
func (q Request) Check() error {
	switch q.Do {
	case Start, Stop, Snapshot:
	default:
		return fmt.Errorf("unknown action %q: must be start, stop or snapshot", q.Do)
	}
	switch {
	case q.Name == "":
		return nil
	case !windowName.MatchString(q.Name):
		return fmt.Errorf("a window's name is letters, digits, dots and dashes: %q is not", q.Name)
	case len(strings.TrimLeft(strings.ToLower(q.Name), "0123456789abcdef")) == 0:
		return fmt.Errorf("%q could be a trace's id: take another name", q.Name)
	}
	return nil
}

var windowName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// requestTime is how long a request may take.
const requestTime = time.Minute
