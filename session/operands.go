package session

import "tracerag/trace/store"

// Operands splits words into the question and traces: the question is the
// first, or behind traces, where ask and prompt have it, the last.
func Operands(s *store.Store, words []string) (question string, names []string) {
	if len(words) == 1 {
		return words[0], []string{"@last"}
	}
	first, last := words[0], words[len(words)-1]
	_, notFirst := s.Find(first)
	_, notLast := s.Find(last)
	if notFirst == nil && notLast != nil {
		return last, words[:len(words)-1]
	}
	return first, words[1:]
}
