package machine

import "testing"

// Whatever the user allows there is a layout, within its bounds, and one that does
// not take much more than was allowed once it is above the least.
func TestLayoutSizes(t *testing.T) {
	for _, hooks := range []int{0, 1, 1000, 100_000, 10_000_000} {
		for _, memory := range []uint64{0, 1, 55, 56, 1 << 20, 1 << 24, 1 << 30, 1 << 40, 1 << 63} {
			l := NewLayout(make([]uint32, hooks), memory)
			if l.Slots < leastSlots || l.Slots > maxSlots || l.Slots&(l.Slots-1) != 0 || l.MaxCells >= l.Slots {
				t.Errorf("%d hooks, %d bytes: %+v", hooks, memory, l)
			}
			if used := tableBytes(l.Slots); memory > 0 && l.Slots > leastSlots && used > memory {
				t.Errorf("%d hooks: %d bytes are allowed, tables and counters take up to %d", hooks, memory, used)
			}
			if l.Size()%4096 != 0 {
				t.Errorf("%d hooks, %d bytes: the size %d is no whole number of pages", hooks, memory, l.Size())
			}
		}
	}
}
