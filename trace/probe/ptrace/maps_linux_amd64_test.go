package ptrace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParseMaps(t *testing.T) {
	const text = "00400000-00452000 r-xp 00001000 08:02 173521   /usr/bin/a program \n" +
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n" +
		"7ffe1c5d0000-7ffe1c5f1000 rw-p 00000000 00:00 0     [stack]\n" +
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
	got, err := parseMaps(text)
	want := []Mapping{
		{0x400000, 0x452000, "r-xp", 0x1000, "/usr/bin/a program "},
		{0xc000000000, 0xc000400000, "rw-p", 0, ""},
		{0x7ffe1c5d0000, 0x7ffe1c5f1000, "rw-p", 0, "[stack]"},
		{0xffffffffff600000, 0xffffffffff601000, "--xp", 0, "[vsyscall]"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"\n", "400000 r-xp 0 0 0\n", "1-2 r-xp\n", "1-2 r-xp x 0 0\n"} {
		if _, err := parseMaps(text + bad); err == nil {
			t.Errorf("%q is a mapping", bad)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	own, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(own))
	f.Fuzz(func(t *testing.T, text string) {
		maps, err := parseMaps(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, m := range maps {
			fmt.Fprintf(&b, "%x-%x %s %x 0:0 0 %s\n", m.Start, m.End, m.Perms, m.Offset, m.Path)
		}
		if again, err := parseMaps(b.String()); err != nil || !slices.Equal(maps, again) {
			t.Errorf("%q reads as %v, written and read again as %v, %v", text, maps, again, err)
		}
	})
}

func TestClosest(t *testing.T) {
	taken := []span{{0x10_0000, 0x20_0000}, {0x30_0000, 0x40_0000}, {0, 0x1_0000}}
	for _, tt := range []struct {
		near, size, reach, want uint64 // want 0: none
	}{
		{0x25_0000, 0x1000, 0x1000, 0x25_0000},             // there is room right there
		{0x25_0123, 0x1000, 0x2000, 0x25_0000},             // in whole pages
		{0x2f_f800, 0x1000, 0x2000, 0x2f_f000},             //
		{0x17_f800, 0x1000, 0x100_0000, 0xf_f000},          // below is as close as above
		{0x18_0000, 0x1000, 0x100_0000, 0x20_0000},         // above is closer
		{0x17_f000, 0x1000, 0x8_0000, 0xf_f000},            // it reaches to the lower end, not to the upper one
		{0x18_0000, 0x1000, 0x8_0fff, 0},                   // nowhere
		{0x18_0000, 0xf_0001, 0x100_0000, 0x20_0000},       // too large for below
		{0x35_0000, 0x10_0001, 0x100_0000, 0x40_0000},      // too large for between
		{0x35_0000, 0x10_0001, 0xf_0000, 0},                //
		{0x400_0000, 0x1000, 0x1000, 0x400_0000},           // behind everything
		{0x18_0000, 0, 0x100_0000, 0},                      //
		{0x18_0000, 1 << 48, 1 << 63, 0},                   //
		{0x18_0000, ^uint64(0), ^uint64(0), 0},             //
		{^uint64(0), 0x1000, 1 << 63, 0},                   // too far
		{^uint64(0), 0x1000, ^uint64(0), highest - 0x1000}, //
	} {
		if got, ok := closest(slices.Clone(taken), tt.near, tt.size, tt.reach); got != tt.want || ok != (tt.want != 0) {
			t.Errorf("near %#x, %#x bytes, reach %#x: %#x, %v; want %#x", tt.near, tt.size, tt.reach, got, ok, tt.want)
		}
	}
}

// TestClosestRandom compares with trying every page.
func TestClosestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		const pages = 64
		free := [pages]bool{}
		var taken []span
		for i := 0; i < pages; {
			n := 1 + r.IntN(8)
			isFree := r.IntN(2) == 0
			for j := i; j < min(i+n, pages); j++ {
				free[j] = isFree
			}
			if !isFree {
				taken = append(taken, span{uint64(i) * pageSize, uint64(min(i+n, pages)) * pageSize})
			}
			i += n
		}
		taken = append(taken, span{pages * pageSize, highest})
		r.Shuffle(len(taken), func(i, j int) { taken[i], taken[j] = taken[j], taken[i] })
		near, size, reach := uint64(r.IntN(pages))*pageSize, uint64(1+r.IntN(6))*pageSize, uint64(r.IntN(pages))*pageSize
		want, wantOK := uint64(0), false
		for i := range pages {
			if i+int(size/pageSize) > pages || slices.Contains(free[i:i+int(size/pageSize)], false) {
				continue
			}
			at := uint64(i) * pageSize
			if at+size <= near+reach && at+reach >= near && (!wantOK || distanceOf(at, near) < distanceOf(want, near)) {
				want, wantOK = at, true
			}
		}
		if got, ok := closest(taken, near, size, reach); ok != wantOK || got != want {
			t.Fatalf("taken %x, near %#x, size %#x, reach %#x: %#x, %v; want %#x, %v", taken, near, size, reach, got, ok, want, wantOK)
		}
	}
}

func distanceOf(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// TestFindRoom finds room in processes, where it keeps its distance.
func TestFindRoom(t *testing.T) {
	p := hold(t, "exit", "0")
	entry, err := p.Entry()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	brk, err := p.brk()
	if err != nil {
		t.Fatal(err)
	}
	stack := slices.IndexFunc(maps, func(m Mapping) bool { return m.Path == "[stack]" })
	for _, near := range []uint64{entry, sharedAt, 0xc0_0000_0000, maps[stack].Start} {
		const size = 1 << 20
		addr, err := p.FindRoom(near, size, 1<<46)
		if err != nil {
			t.Errorf("near %#x: %v", near, err)
			continue
		}
		for _, m := range maps {
			if addr < m.End && m.Start < addr+size {
				t.Errorf("near %#x: %#x is within %+v", near, addr, m)
			}
			if m.Path == "[stack]" && addr < m.Start && addr > m.Start-16<<20 {
				t.Errorf("near %#x: %#x is where the stack grows, below %#x", near, addr, m.Start)
			}
		}
		if addr >= brk && addr < brk+16<<20 || addr >= 0xc0_0000_0000 && addr < 0x1c0_0000_0000 {
			t.Errorf("near %#x: %#x is where a heap grows (%#x)", near, addr, brk)
		}
		if again, err := p.FindRoom(near, size, 1<<46); again != addr || err != nil {
			t.Errorf("near %#x: %#x, then %#x, %v", near, addr, again, err)
		}
	}
	if addr, err := p.FindRoom(sharedAt, 1<<30, 1<<40); addr != sharedAt || err != nil {
		t.Errorf("near %#x: %#x, %v", uint64(sharedAt), addr, err)
	}
}
