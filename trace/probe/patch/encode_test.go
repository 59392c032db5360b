package patch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"testing"
)

// somePlan has a hook of each kind.
func somePlan() *Plan {
	return &Plan{
		Hooks: []Hook{
			{Kind: Check, Func: 3, Begins: []int{0, 2}, At: 0x401004, code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, before: 2, lead: []byte{0x49, 0x3b, 0x66, 0x10}},
			{Kind: Go, Func: 3, At: 0x401020, code: []byte{0xe8}, callee: 0x400300},
			{Kind: Block, Func: 3, Begins: []int{1}, Approximate: true, At: 0x401040, code: []byte{0x48, 0x01, 0xd8, 0x48, 0xff, 0xc0}, before: 3},
			{Kind: Frame, Func: 4, MayFault: true, At: 0x401060, code: []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x48, 0x08}, ahead: 4},
			{Kind: Leaf, Func: 5, At: 0x401080, code: []byte{0x31, 0xc0, 0xc3}},
			{Kind: CallSites, Func: 9, Partial: true, Sites: []uint64{0x401010, 0x402000}, code: []byte{0xe8, 0xe9}, callee: 0x403000},
		},
		Calls:    []Call{{Host: 0, Callee: 0, At: 0x401028}, {Host: 0, Callee: 3, At: 0x401090}, {Host: 3, Callee: 0, At: 0x401070}},
		Unhooked: []Unhooked{{1, whyAssembly}, {7, whyShort}},
		Missed:   []Missed{{3, 3, whyPanics}, {3, 4, whyNoWindow}, {7, 0, whyHost}},
		Marks: []Mark{
			{Func: 12, Block: 0x409006, At: 0x409000, flags: true, code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, before: 2},
			{Func: 3, Block: 0x401050, Behind: true, At: 0x401050, code: []byte{0x48, 0x01, 0xd8, 0x48, 0xff, 0xc0}, before: 3},
			{Func: 3, Block: 0x401090, At: 0x401094, form: markCall, code: []byte{0xe8, 0, 1, 0, 0}},
			{Func: 4, Block: 0x401100, At: 0x4010a0, form: markTaken, code: []byte{0x0f, 0x84, 0x5a, 0, 0, 0}},
		},
		Waypoints: []Hook{
			{Kind: Check, Func: 1, At: 0x400804, code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, before: 2, callee: 0x400800},
			{Kind: Frame, Func: 20, At: 0x500000, code: []byte{0x55, 0x48, 0x89, 0xe5, 0x90}, callee: 0x500000},
		},
	}
}

func TestEncode(t *testing.T) {
	f, c := open(t, "tablecat")
	made, err := Make(f, c, func(pkg string) bool { return !f.Std(pkg) }, Options{Inlined: true, Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Plan{{}, somePlan(), made} {
		b := p.Encode()
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, p) {
			t.Errorf("a plan of %d hooks and %d marks became one of %d and %d", len(p.Hooks), len(p.Marks), len(got.Hooks), len(got.Marks))
		}
	}
	t.Logf("%d hooks in %d bytes", len(made.Hooks), len(made.Encode()))
}

// TestDecodeDamaged changes and cuts an encoded plan everywhere.
func TestDecodeDamaged(t *testing.T) {
	good := somePlan().Encode()
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := Decode(bad); err == nil {
			t.Errorf("no error with byte %d changed", i)
		}
		if _, err := Decode(good[:i]); err == nil {
			t.Errorf("no error with %d bytes", i)
		}
	}
	if _, err := Decode(append(bytes.Clone(good), 0)); !errors.Is(err, errDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// FuzzDecode decodes any bytes, with the right magic string and checksum. What
// is decoded can be emitted without a panic, and encodes to the same plan.
func FuzzDecode(f *testing.F) {
	good := somePlan().Encode()
	f.Add(good[len(encoding) : len(good)-sha256.Size])
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		b := append([]byte(encoding), in...)
		sum := sha256.Sum256(b)
		p, err := Decode(append(b, sum[:]...))
		if err != nil {
			return
		}
		stubs, patches, err := p.Emit(0x10000000, 0, Entries{Enter: 0x10000000, Go: 0x10000100, Block: 0x10000200, Leaf: 0x10000300, Way: 0x10000380, Call: 0x100003c0, Marks: 0x10000400})
		if err == nil && len(p.Hooks)+len(p.Marks)+len(p.Waypoints) > 0 && (len(stubs) == 0 || len(patches) == 0) {
			t.Error("hooks without stubs or patches")
		}
		again, err := Decode(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, p) {
			t.Errorf("%+v became %+v", p, again)
		}
	})
}
