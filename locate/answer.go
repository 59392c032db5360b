package locate

import (
	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/rank"
)

// Answer is what was found.
type Answer struct {
	Schema       string       `json:"schema"`
	Functions    []Function   `json:"functions"`
	Files        []Place      `json:"files"`
	Packages     []Place      `json:"packages"`
	Repositories []Repository `json:"repositories"`
	// Runs are the saved runs that executed the best functions, those that executed most
	// of them first.
	Runs []knowledge.Run `json:"-"`
	// Recorded are the traces of Runs.
	Recorded []string `json:"recorded,omitempty"`
	// Record says which test to record to see the best functions at work; nil if none
	// was found.
	Record *Record `json:"record,omitempty"`
	// OldCalls are the repositories whose calls are those of an earlier state of the files.
	OldCalls []string `json:"old_calls,omitempty"`
	// Stale are files that changed since they were indexed.
	Stale []string `json:"stale,omitempty"`
}

// Function is a function that may be meant, and the way there.
type Function struct {
	ID         int64         `json:"-"`
	Repository string        `json:"repository"`
	Package    string        `json:"package"` // import path
	File       string        `json:"file"`    // below the repository's root
	Name       string        `json:"function"`
	Line       int           `json:"line"`
	EndLine    int           `json:"end_line"`
	Score      float64       `json:"score"`
	Reasons    []rank.Reason `json:"reasons"`
	Ran        bool          `json:"ran,omitempty"`
}

// Place is a file or a package.
type Place struct {
	Repository string   `json:"repository"`
	Package    string   `json:"package"`
	File       string   `json:"file,omitempty"`
	Score      float64  `json:"score"`
	Functions  []string `json:"functions"` // its best ones
}

// Repository is a repository that may be meant.
type Repository struct {
	Name     string        `json:"repository"`
	Root     string        `json:"root"`
	Snapshot string        `json:"snapshot"`
	Score    float64       `json:"score"` // 1 for the best
	Reasons  []rank.Reason `json:"reasons,omitempty"`

	text func(path string) ([]byte, error)
}

// Text returns the text of a file, from where it was read for the answer.
func (r *Repository) Text(path string) ([]byte, error) {
	if r.text == nil {
		return code.Read(r.Root, path)
	}
	return r.text(path)
}

// Record is a test to record.
type Record struct {
	Dir     string `json:"dir"`     // of the module
	Package string `json:"package"` // "./vm"
	// Tags are the build tags without which the test, or the function, is not built.
	Tags []string `json:"tags,omitempty"`
	Test string   `json:"test"` // "" for all of the package
	Why  string   `json:"why"`
}
