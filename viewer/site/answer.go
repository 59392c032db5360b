package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Answers is the way by which all that a page shows leaves.
type Answers struct {
	// Clean is applied to all JSON that leaves: it hides
	// secrets, and escapes in the strings what a browser would not show. Nil leaves
	// it as it is.
	Clean func(json []byte) []byte
	// WayOut says what a user can do about an error; "" or nil: nothing.
	WayOut func(error) string
}

// Encode writes what leaves as JSON. Nothing leaves otherwise, but by Text.
func (a *Answers) Encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil && a.Clean != nil {
		data = a.Clean(data)
	}
	return data, err
}

// Text does to a text what Encode does to those in JSON.
func (a *Answers) Text(text string) string {
	data, err := a.Encode(text)
	if err != nil || json.Unmarshal(data, &text) != nil {
		return ""
	}
	return text
}

// Write answers with JSON.
func (a *Answers) Write(w http.ResponseWriter, v any) {
	data, err := a.Encode(v)
	if err != nil {
		a.Refuse(w, err.Error(), err, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a client that reads nothing holds no answer
	// An error here is that of a connection that is gone.
	_, _ = w.Write(append(data, '\n'))
}

// Refuse answers with the text of an error and what can be done about it.
func (a *Answers) Refuse(w http.ResponseWriter, text string, err error, code int) {
	if a.WayOut != nil {
		if out := a.WayOut(err); out != "" {
			text += ": " + out
		}
	}
	http.Error(w, a.Text(text), code)
}

// mostBody is how long the body of a request may be, in bytes.
const mostBody = 1 << 20

// ReadBody reads what a request has in its body, or answers what is wrong with it.
func ReadBody(w http.ResponseWriter, r *http.Request, what string, to any) (ok bool) {
	// A form of another origin can send other types without asking first.
	if r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "the body is to be application/json", http.StatusUnsupportedMediaType)
		return false
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	if err == nil {
		if _, err = dec.Token(); err == nil {
			err = errors.New("there is more behind it")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("the %s cannot be read: %+q", what, err), http.StatusBadRequest)
		return false
	}
	// All of it is here: an answer may take as long as it does.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return true
}
