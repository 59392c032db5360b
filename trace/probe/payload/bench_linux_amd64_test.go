package payload

import (
	"testing"

	"tracerag/trace/probe/payload/source"
)

// BenchmarkCall is what a call costs, without the function's own jump to its stub.
func BenchmarkCall(b *testing.B) {
	const inner = 1000 // calls a loop of Repeat
	for _, bb := range []struct {
		name string
		make func(s *simulation)
	}{
		{"from one caller", func(s *simulation) { s.call(0, 0) }},
		{"deep", func(s *simulation) {
			for range 100 {
				s.call(0, 0)
			}
		}},
		{"via two others", func(s *simulation) { s.call(0, 0); s.call(7, 0); s.call(8, 0) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := newSimulation(b, small)
			bb.make(s)
			s.call(1, 0)
			g := s.cur
			g.ret()
			g.regs.SP, g.regs.BP, g.regs.R13 = g.sp-8, g.bp, 2
			for b.Loop() {
				source.Repeat(s.tg.enter, &g.regs, inner)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/inner, "ns/call")
		})
	}
	b.Run("direct", func(b *testing.B) {
		s := newSimulation(b, small)
		s.call(0, 0)
		for range 2 {
			s.call(1, 0)
			s.cur.ret()
		}
		g := s.cur
		g.regs.SP, g.regs.BP, g.regs.R13 = g.sp-8, g.bp, uint64(numberOf(0, 1))
		for b.Loop() {
			source.Repeat(s.tg.direct, &g.regs, inner)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/inner, "ns/call")
	})
	b.Run("block", func(b *testing.B) {
		s := newSimulation(b, small)
		s.call(0, 0)
		s.inside(0, 1)
		g := s.cur
		g.store(g.sp-8, 1)
		g.regs.SP, g.regs.BP = g.sp-8, g.bp
		for b.Loop() {
			source.Repeat(s.tg.block, &g.regs, inner)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/inner, "ns/call")
	})
}
