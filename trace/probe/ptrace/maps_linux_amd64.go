package ptrace

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Mapping is a range of the process's memory: a line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64 // End is the first address behind it
	Perms      string // such as "r-xp"
	Offset     uint64 // in the file
	Path       string // of the file, or a name such as "[stack]"; empty for anonymous memory
}

// Maps is what the process has mapped, by address.
func (p *Process) Maps() ([]Mapping, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return nil, err
	}
	maps, err := parseMaps(string(text))
	if err != nil {
		return nil, fmt.Errorf("/proc/%d/maps: %w", p.pid, err)
	}
	return maps, nil
}

// parseMaps reads lines such as
//
//	7f3c9a5e2000-7f3c9a60a000 r--p 00000000 fd:00 1837433   /usr/lib/libc.so.6
func parseMaps(text string) ([]Mapping, error) {
	var maps []Mapping
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.SplitN(line, " ", 6)
		if len(fields) < 5 {
			return nil, fmt.Errorf("not a mapping: %q", line)
		}
		m := Mapping{Perms: fields[1]}
		start, end, _ := strings.Cut(fields[0], "-")
		for _, n := range []struct {
			text string
			to   *uint64
		}{{start, &m.Start}, {end, &m.End}, {fields[2], &m.Offset}} {
			var err error
			if *n.to, err = strconv.ParseUint(n.text, 16, 64); err != nil {
				return nil, fmt.Errorf("not a mapping: %q", line)
			}
		}
		if len(fields) == 6 {
			m.Path = strings.TrimLeft(fields[5], " ") // it may end in spaces
		}
		maps = append(maps, m)
	}
	return maps, nil
}

// atEntry is the type of the entry address in a process's auxiliary vector.
const atEntry = 9

// Entry is the address of the program's entry in the process. It differs from
// that in the program's file by what a position-independent program is off by.
func (p *Process) Entry() (uint64, error) {
	name := fmt.Sprintf("/proc/%d/auxv", p.pid)
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for ; len(data) >= 16; data = data[16:] {
		if binary.LittleEndian.Uint64(data) == atEntry {
			return binary.LittleEndian.Uint64(data[8:]), nil
		}
	}
	return 0, fmt.Errorf("%s has no entry address", name)
}
