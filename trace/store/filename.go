package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The parts of a file's name. A reader of the directory relies on names
// sorting by time, which fixed widths and UTC see to.
const (
	timeLayout = "20060102-150405.000"
	idLen      = 8
	stemLen    = len(timeLayout) + 1 + idLen
	traceExt   = ".pb.gz"
	answerExt  = ".json"
	answerMark = ".ask-"
)

func fileName(saved time.Time, id string) string {
	return saved.UTC().Format(timeLayout) + "-" + id + traceExt
}

// parseFileName takes the name of a trace's file apart.
func parseFileName(name string) (saved time.Time, id string, ok bool) {
	stem, ok := strings.CutSuffix(name, traceExt)
	if !ok || len(stem) != stemLen || stem[len(timeLayout)] != '-' {
		return time.Time{}, "", false
	}
	id = stem[len(timeLayout)+1:]
	saved, err := time.Parse(timeLayout, stem[:len(timeLayout)])
	if err != nil || !isHex(id) || fileName(saved, id) != name { // time.Parse takes a decimal comma too
		return time.Time{}, "", false
	}
	return saved, id, true
}

// stemOf returns what the names of a trace's file and of its answers share.
func stemOf(name string) string { return strings.TrimSuffix(name, traceExt) }

func answerName(stem string, n int) string {
	return fmt.Sprintf("%s%s%03d%s", stem, answerMark, n, answerExt)
}

// parseAnswerName takes the name of a conversation's file apart.
func parseAnswerName(name string) (stem string, n int, ok bool) {
	rest, ok := strings.CutSuffix(name, answerExt)
	i := strings.LastIndex(rest, answerMark)
	if !ok || i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[i+len(answerMark):])
	if err != nil || n < 1 || answerName(rest[:i], n) != name {
		return "", 0, false
	}
	return rest[:i], n, true
}

// isHex reports whether s is of lower-case hex digits alone.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
