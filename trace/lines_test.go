package trace_test

import (
	"testing"

	"tracerag/trace"
)

func TestLinesTellEachState(t *testing.T) {
	var unwatched trace.Lines
	l := trace.Lines{First: 10, States: "r.n?r"}
	for _, c := range []struct {
		lines trace.Lines
		line  int
		want  trace.LineState
	}{
		{l, 10, trace.LineRan}, {l, 11, trace.LineNoCode}, {l, 12, trace.LineNotRun}, {l, 13, trace.LineUnknown}, {l, 14, trace.LineRan},
		{l, 9, trace.LineNoCode}, {l, 15, trace.LineNoCode}, {l, 0, trace.LineNoCode},
		{unwatched, 10, trace.LineUnknown}, {unwatched, 0, trace.LineUnknown},
	} {
		if got := c.lines.At(c.line); got != c.want {
			t.Errorf("line %d of %+v: %c, want %c", c.line, c.lines, got, c.want)
		}
	}
	if got := l.Count(trace.LineRan); got != 2 {
		t.Errorf("%d lines ran, want 2", got)
	}
}
