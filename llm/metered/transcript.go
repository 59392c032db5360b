package metered

import (
	"encoding/json"
	"fmt"
	"os"
)

// Transcript writes exchanges into a file, a line of JSON each. Only its owner may read it.
type Transcript struct {
	file *os.File
	err  error // the first one
}

// NewTranscript makes the file, or empties it.
func NewTranscript(path string) (*Transcript, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		if err = f.Chmod(0o600); err == nil { // before anything is in it
			err = f.Truncate(0)
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the transcript: %w", err)
	}
	return &Transcript{file: f}, nil
}

// Tell is of [Options].
func (t *Transcript) Tell(x Exchange) {
	line, err := json.Marshal(x)
	if err == nil && t.err == nil {
		_, err = t.file.Write(append(line, '\n'))
	}
	if t.err == nil {
		t.err = err
	}
}

// Close says whether all of it was written.
func (t *Transcript) Close() error {
	err := t.file.Close()
	if t.err != nil {
		err = t.err
	}
	if err != nil {
		return fmt.Errorf("the transcript is not complete: %w", err)
	}
	return nil
}

// String says what the questions took.
func (t Totals) String() string {
	questions := "questions"
	if t.Questions == 1 {
		questions = "question"
	}
	text := fmt.Sprintf("%d %s, %d prompt + %d answer tokens", t.Questions, questions, t.Prompt, t.Answered)
	if t.Cost > 0 {
		text += fmt.Sprintf(", about $%.4f", t.Cost)
	}
	if t.Kept > 0 {
		text += fmt.Sprintf("; %d were answered earlier", t.Kept)
	}
	if t.Cut > 0 {
		text += fmt.Sprintf("; %d answers were cut at the limit of tokens", t.Cut)
	}
	return text
}
