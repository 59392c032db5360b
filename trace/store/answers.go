package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tracerag/atomicfile"
)

// ConversationVersion is the version of a conversation's file. A reader takes
// its own version and older ones.
const ConversationVersion = 1

// Conversation is an exchange with a model about one trace or two. Its file
// holds all that was sent and all that came back, source code included; an API
// key is not among its fields, and must not be put into one.
type Conversation struct {
	Version  int       `json:"version"`
	Traces   []string  `json:"traces"` // ids: the trace asked about, or the two compared
	Model    string    `json:"model"`
	Question string    `json:"question"` // as it was typed; the messages hold it within the prompt
	Messages []Message `json:"messages"` // as they were sent, of earlier rounds too
	Answer   string    `json:"answer"`
	// Incomplete: the answer was cut off, by a dropped connection or a limit.
	Incomplete bool      `json:"incomplete,omitempty"`
	Usage      Usage     `json:"usage"`
	Created    time.Time `json:"created"`

	// Of a question that was asked in rounds: the rounds before the last, whose prompt
	// Messages has, the functions whose sources were shown in any of them, and the
	// questions before this one.
	InRounds bool       `json:"in_rounds,omitempty"` // though the first may have had the answer
	Rounds   []Round    `json:"rounds,omitempty"`
	Read     []string   `json:"read,omitempty"`
	Earlier  []Exchange `json:"earlier,omitempty"`

	Path string `json:"-"` // of the file it was read from
}

// Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"` // "system", "user" or "assistant"
	Content string `json:"content"`
}

// Round is a prompt that a model answered with a list of what it wants to read.
type Round struct {
	Prompt string `json:"prompt"`
	Reply  string `json:"reply"`
	Usage  Usage  `json:"usage"`
}

// Exchange is a question that was asked, and its answer.
type Exchange struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Usage is what the endpoint said the last round took, in tokens; 0 is unknown.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CachedTokens     int `json:"cached_tokens"`
	ReasoningTokens  int `json:"reasoning_tokens"`
}

// Next returns the messages that go on with the conversation by another
// question: those sent so far, the answer, and the question.
func (c *Conversation) Next(question string) []Message {
	return append(slices.Clone(c.Messages), Message{"assistant", c.Answer}, Message{"user", question})
}

// SaveAnswer writes a conversation into a new file beside the trace that it is
// about, and returns the file's path. The version is set, and the time of
// creation when there is none.
func (s *Store) SaveAnswer(e Entry, c Conversation) (path string, err error) {
	c.Version = ConversationVersion
	if c.Created.IsZero() {
		c.Created = time.Now()
	}
	c.Created = c.Created.UTC().Truncate(time.Millisecond)
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // people read these files, and source code is full of < and &
	if err := enc.Encode(c); err != nil {
		return "", err
	}
	if path, err = reserve(e); err == nil {
		if err = atomicfile.Save(path, data.Bytes()); err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the answer cannot be saved beside its trace: %w", err)
	}
	return path, nil
}

// reserve takes the next free number for a conversation about e by making its
// file, empty, which no two processes can do with the same name.
func reserve(e Entry) (string, error) {
	files, err := answerFiles(e)
	if err != nil {
		return "", err
	}
	n := 1
	if len(files) > 0 {
		n = files[len(files)-1].n + 1
	}
	for ; ; n++ {
		path := filepath.Join(filepath.Dir(e.Path), answerName(stemOf(filepath.Base(e.Path)), n))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return path, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// Answers returns the conversations about a trace, oldest first. A file that
// cannot be read is named by the error and does not hide the others.
func (s *Store) Answers(e Entry) ([]Conversation, error) {
	files, err := answerFiles(e)
	if err != nil {
		return nil, err
	}
	var out []Conversation
	var errs []error
	for _, f := range files {
		data, err := os.ReadFile(f.path)
		if err == nil && len(data) == 0 {
			continue // its number is taken, its content not there yet
		}
		c := Conversation{Path: f.path}
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: not a readable conversation: %w", f.path, err))
		case c.Version > ConversationVersion:
			errs = append(errs, fmt.Errorf("%s: its version %d is newer than this tracerag reads (%d): update tracerag", f.path, c.Version, ConversationVersion))
		case c.Version < 1:
			errs = append(errs, fmt.Errorf("%s: not a conversation: it has no version", f.path))
		default:
			out = append(out, c)
		}
	}
	return out, errors.Join(errs...)
}

type answerFile struct {
	path string
	n    int
	size int64
}

// answerFiles returns the files of the conversations about e by their numbers.
func answerFiles(e Entry) ([]answerFile, error) {
	dir := filepath.Dir(e.Path)
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot look for answers: %w", err)
	}
	var out []answerFile
	for _, f := range files {
		stem, n, ok := parseAnswerName(f.Name())
		if !ok || stem != stemOf(filepath.Base(e.Path)) || !f.Type().IsRegular() {
			continue
		}
		if fi, err := f.Info(); err == nil {
			out = append(out, answerFile{filepath.Join(dir, f.Name()), n, fi.Size()})
		}
	}
	slices.SortFunc(out, func(a, b answerFile) int { return cmp.Compare(a.n, b.n) })
	return out, nil
}
