package payload

import (
	"slices"
	"testing"
)

// Whatever the user allows there is a layout, within its bounds, and one that has room
// for what was allowed.
func TestLayoutSizes(t *testing.T) {
	for _, hooks := range []int{0, 1, 1000, 100_000, 10_000_000} {
		for _, giant := range []uint32{0, 1, 5000, 10_000_000} { // hooks inside one function
			inner := make([]uint32, hooks)
			if hooks > 0 {
				inner[hooks/2] = giant
			}
			for _, memory := range []uint64{0, 1, 55, 1 << 13, 1 << 20, 1 << 24, 1 << 30, 1 << 40, 1 << 63} {
				l := NewLayout(inner, 8, memory)
				for ok := true; ok; ok = l.Shrink() {
					if l.slots < minSlots || l.slots > maxSlots || l.slots&(l.slots-1) != 0 || l.maxCells > most(l.slots) {
						t.Fatalf("%d hooks, %d bytes: %+v", hooks, memory, l)
					}
					if l.firstCell() > l.maxCells {
						t.Fatalf("%d hooks, %d inside one, %d bytes: the overflow has no room in %d cells", hooks, giant, memory, l.maxCells)
					}
					if l.Size()%4096 != 0 {
						t.Fatalf("%d hooks, %d bytes: the size %d is no whole number of pages", hooks, memory, l.Size())
					}
				}
				room := NewLayout(inner, 8, memory).maxCells - l.firstCell()
				if want := memory / cellBytes; memory > 0 && room != min(want, most(maxSlots)-l.firstCell()) {
					t.Errorf("%d hooks: %d bytes are allowed, there is room for %d cells", hooks, memory, room)
				}
			}
		}
	}
	if cells := NewLayout(slices.Repeat([]uint32{10}, 1000), 8, 0).maxCells; cells < 200_000_000 {
		t.Errorf("by default there is room for %d cells only", cells)
	}
}
