package viewer_test

import (
	"io"
	"testing"

	"tracerag/viewer"
)

// What somebody waits for before the tree is on the screen: bench's BenchmarkView
// is the whole of it.

func BenchmarkNew(b *testing.B) {
	f := newFixture(b)
	c := f.content(largeTrace(50_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := viewer.New(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewOfTwo(b *testing.B) {
	f := newFixture(b)
	c := f.content(largeTrace(50_000), largeTrace(40_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := viewer.New(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOverview(b *testing.B) {
	base, token := listen(b, newFixture(b).page(largeTrace(50_000)), nil)
	b.ReportAllocs()
	for b.Loop() {
		status, _, body := request{path: "/api/overview"}.send(b, base, token)
		if status != 200 {
			b.Fatal(status)
		}
		b.SetBytes(int64(len(body)))
	}
}

func BenchmarkReport(b *testing.B) {
	page := newFixture(b).page(largeTrace(50_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := page.WriteReport(io.Discard, viewer.DefaultReportSize); err != nil {
			b.Fatal(err)
		}
	}
}
