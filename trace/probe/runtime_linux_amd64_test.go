package probe

import (
	"debug/elf"
	"errors"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/executable"
	"tracerag/trace/probe/payload"
)

func TestRelease(t *testing.T) {
	for version, want := range map[string]int{
		"go1.21.0": 21, "go1.26": 26, "go1.26.8": 26, "go1.27rc1": 27, "devel go1.27-0123abc Thu Nov 19": 27,
		"go1.26.1 X:nocoverageredesign": 26, "go1.26-custom": 26, "": -1, "unknown": -1, "go2.0": -1,
	} {
		if got, ok := release(version); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q is release %d (%v), want %d", version, got, ok, want)
		}
	}
}

// A release whose runtime nobody has looked at is left to another recorder, and so
// is a race detector that uses the word that we need.
func TestUnknownRuntimes(t *testing.T) {
	for _, f := range []executable.File{
		{GoVersion: "go1.20.14"}, {GoVersion: "go1.99"}, {GoVersion: ""}, {GoVersion: "go1.24.3", Race: true},
	} {
		var unsuitable *Unsuitable
		if _, err := runtimeLayout(f.GoVersion, f.Race); !errors.As(err, &unsuitable) {
			t.Errorf("%q, race %v: %v, want that it is unsuitable", f.GoVersion, f.Race, err)
		}
	}
	for _, v := range []string{"go1.21.0", "go1.22.5", "go1.23.1", "go1.24.0", "go1.25.5", "go1.26.8"} {
		if l, err := runtimeLayout(v, false); err != nil || l.GoID == 0 || l.State == 0 {
			t.Errorf("%s: %+v %v", v, l, err)
		}
	}
}

// Where there is DWARF it has the last word.
func TestLayoutIsCheckedAgainstDWARF(t *testing.T) {
	path := fixtures.Build(t, "closures")
	f, err := executable.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := runtimeLayout(f.GoVersion, f.Race)
	if err != nil {
		t.Skip(err) // of the toolchain that runs this test
	}
	if err := checkLayout(path, f, l); err != nil {
		t.Errorf("the table disagrees with DWARF: %v", err)
	}
	// By the short way, which reads little of it.
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	types := map[string]map[string]uint32{"runtime.g": {"goid": l.GoID}, "runtime.m": {"p": l.P}, "runtime.p": {"id": l.ID}}
	if found, err := checkUnits(e, f, types); !found || err != nil {
		t.Errorf("the structs were found: %v, %v", found, err)
	}
	types["runtime.q"] = nil
	if found, _ := checkUnits(e, f, types); found {
		t.Error("a struct was found that does not exist")
	}
	for name, change := range map[string]func(*payload.Runtime){
		"goid": func(l *payload.Runtime) { l.GoID += 8 },
		"gopc": func(l *payload.Runtime) { l.GoPC += 8 },
		"m":    func(l *payload.Runtime) { l.M += 8 },
		"m.p":  func(l *payload.Runtime) { l.P += 8 },
		"p.id": func(l *payload.Runtime) { l.ID += 8 },
		"word": func(l *payload.Runtime) { l.State += 8 },
	} {
		wrong := l
		change(&wrong)
		var unsuitable *Unsuitable
		if err := checkLayout(path, f, wrong); !errors.As(err, &unsuitable) {
			t.Errorf("another offset of %s: %v, want that it is unsuitable", name, err)
		}
	}
}
