package payload

import (
	"reflect"
	"testing"
)

// TestWaypoints has a recursion through functions without a hook that calls one with a
// hook at each level. The tree is the same with waypoints and without. With
// them a call goes past as many frames as a level has, and past all of them
// only until the first walk was long.
func TestWaypoints(t *testing.T) {
	const (
		caller, way, plain, callee = 1, 7, 8, 5
		ofALevel                   = 3 // frames, of which one is a waypoint's
	)
	record := func(levels int, waypoints bool) *Tree {
		l := small
		l.arena = 4 << 20 // shadow stacks grow
		tg, th := newTarget(t, l), newThread(t)
		th.on(processor(t, 0))
		g := newGoroutine(t, levels*ofALevel*16+4096)
		g.start(1, textAt)
		g.down(textAt + 0x10)
		tg.enterFrom(t, th, g, caller)
		g.frame()
		for level := range levels {
			ret := textAt + 0x100
			if level == 0 {
				ret = textAt + 0x200 // the site of all calls
			}
			directCall(ret, wayAt(way))
			g.down(ret)
			if waypoints {
				tg.wayFrom(t, th, g, way)
			}
			g.frame()
			for range ofALevel - 1 {
				g.down(textAt + 0x300)
				g.frame()
			}
			g.down(textAt + 0x400)
			tg.enterFrom(t, th, g, callee)
			g.sp += 8
		}
		return tg.tree(t)
	}
	for _, levels := range []int{100, 1000, 2000} {
		with, without := record(levels, true), record(levels, false)
		if n := with.Nodes[4]; n != (Node{Parent: 3, Hook: callee, Site: 0x200, Via: true, Target: 4, Calls: uint64(levels)}) {
			t.Errorf("%d levels: the calls are %+v", levels, n)
		}
		if !reflect.DeepEqual(with.Nodes, without.Nodes) {
			t.Errorf("%d levels: the tree with waypoints is\n%+v\nwithout\n%+v", levels, with.Nodes, without.Nodes)
		}
		// The one long walk, and the waypoint's own.
		const longWalk = 128
		if with.Walked > 2*(longWalk+ofALevel) {
			t.Errorf("%d levels: calls went past %d frames", levels, with.Walked)
		}
		if all := uint64(levels * levels * ofALevel / 2); without.Walked < all-longWalk*longWalk/2 {
			t.Errorf("%d levels without waypoints: calls went past %d frames, which is not all %d", levels, without.Walked, all)
		}
		t.Logf("%d levels: past %d frames with waypoints, %d without", levels, with.Walked, without.Walked)
	}
}

// TestWaypointReplaced has one call instruction that calls a waypoint, which returns,
// and then in its place a function without a hook, from one that was reached in another
// way. The waypoint has no entry then, so that nobody takes the latter for it.
func TestWaypointReplaced(t *testing.T) {
	const way, plain, callee, other = 7, 8, 5, 9
	ret := textAt + 0x1000 + plain*256 + way*4 // as of the simulation
	for _, tt := range []struct {
		name string
		call func()
	}{
		{"an indirect call", func() { copy(text[ret-textAt-5:], "\x90\x90\x90\xff\xd1") }},
		{"a call of what jumps to it", func() { directCall(ret, wayAt(other)) }},
		{"bytes before it like those of a direct call", func() {
			directCall(ret, wayAt(way))
			text[ret-textAt-5] = 0xe9
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSimulation(t, small)
			s.call(0, 0)
			s.tg.deepen(s.cur.goroutine)
			s.call(plain, 0)
			s.enterBy(way, ret, tt.call)
			s.call(callee, 0)
			for range 3 {
				s.cur.ret()
			}
			s.call(plain, 1) // from another site
			g := s.cur
			g.sp -= 8 // the return address to it is still there
			g.frames = append(g.frames, frame{fn: other, slot: g.sp, ret: g.load(g.sp)})
			g.push(other)
			s.call(callee, 0)
			s.check()
		})
	}
}

// enterBy has the function that runs call another by an instruction that is written
// first.
func (s *simulation) enterBy(fn int, ret uint64, write func()) {
	write()
	g := s.cur
	g.sp -= 8
	g.store(g.sp, ret)
	s.enter(fn, ret)
}
