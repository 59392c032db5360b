package patch

import "bytes"

// ReadChange makes a Patch of a change as somebody gives it: a diff ([ReadDiff]), or files with whole declarations ([ParseReply]).
// It writes nothing.
func ReadChange(dir string, data []byte) (*Patch, error) {
	diff, wrong := ReadDiff(dir, data)
	if wrong == nil {
		return diff, nil
	}
	edits, err := ParseReply(dir, string(data))
	if err != nil {
		if bytes.Contains(data, []byte("```")) {
			return nil, err
		}
		return nil, wrong
	}
	return Apply(dir, edits)
}
