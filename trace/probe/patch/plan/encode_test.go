package plan_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"testing"

	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// somePlan has a hook of each kind.
func somePlan() *plan.Plan {
	return &plan.Plan{
		Hooks: []plan.Hook{
			{Kind: plan.Check, Func: 3, Begins: []int{0, 2}, At: 0x401004, Code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, Before: 2, Lead: []byte{0x49, 0x3b, 0x66, 0x10}},
			{Kind: plan.Go, Func: 3, At: 0x401020, Code: []byte{0xe8}, Callee: 0x400300},
			{Kind: plan.Block, Func: 3, Begins: []int{1}, Approximate: true, At: 0x401040, Code: []byte{0x48, 0x01, 0xd8, 0x48, 0xff, 0xc0}, Before: 3},
			{Kind: plan.Frame, Func: 4, MayFault: true, At: 0x401060, Code: []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x48, 0x08}, Ahead: 4},
			{Kind: plan.Leaf, Func: 5, At: 0x401080, Code: []byte{0x31, 0xc0, 0xc3}},
			{Kind: plan.CallSites, Func: 9, Partial: true, Sites: []uint64{0x401010, 0x402000}, Code: []byte{0xe8, 0xe9}, Callee: 0x403000},
		},
		Calls:    []plan.Call{{Host: 0, Callee: 0, At: 0x401028}, {Host: 0, Callee: 3, At: 0x401090}, {Host: 3, Callee: 0, At: 0x401070}},
		Unhooked: []plan.Unhooked{{Func: 1, Why: "assembly"}, {Func: 7, Why: "too short"}},
		Missed:   []plan.Missed{{Func: 3, Call: 3, Why: "cold"}, {Func: 3, Call: 4, Why: "no room"}, {Func: 7, Call: 0, Why: "cold"}},
		Marks: []plan.BlockMark{
			{Func: 12, Block: 0x409006, At: 0x409000, Flags: true, Code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, Before: 2},
			{Func: 3, Block: 0x401050, Behind: true, At: 0x401050, Code: []byte{0x48, 0x01, 0xd8, 0x48, 0xff, 0xc0}, Before: 3},
			{Func: 3, Block: 0x401090, At: 0x401094, Form: plan.MarkCall, Code: []byte{0xe8, 0, 1, 0, 0}},
			{Func: 4, Block: 0x401100, At: 0x4010a0, Form: plan.MarkTaken, Code: []byte{0x0f, 0x84, 0x5a, 0, 0, 0}},
		},
		Waypoints: []plan.Hook{
			{Kind: plan.Check, Func: 1, At: 0x400804, Code: []byte{0x76, 0x19, 0x55, 0x48, 0x89, 0xe5}, Before: 2, Callee: 0x400800},
			{Kind: plan.Frame, Func: 20, At: 0x500000, Code: []byte{0x55, 0x48, 0x89, 0xe5, 0x90}, Callee: 0x500000},
		},
	}
}

func TestEncode(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	made, err := patch.Make(f, c, func(pkg string) bool { return !f.Std(pkg) }, patch.Options{Inlined: true, Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*plan.Plan{{}, somePlan(), made} {
		b := p.Encode()
		got, err := plan.Decode(b)
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
		if _, err := plan.Decode(bad); err == nil {
			t.Errorf("no error with byte %d changed", i)
		}
		if _, err := plan.Decode(good[:i]); err == nil {
			t.Errorf("no error with %d bytes", i)
		}
	}
	if _, err := plan.Decode(append(bytes.Clone(good), 0)); !errors.Is(err, plan.ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// FuzzDecode decodes any bytes, with the right magic string and checksum. What
// is decoded can be emitted without a panic, and encodes to the same plan.
func FuzzDecode(f *testing.F) {
	good := somePlan().Encode()
	f.Add(good[len(plan.Encoding) : len(good)-sha256.Size])
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		b := append([]byte(plan.Encoding), in...)
		sum := sha256.Sum256(b)
		p, err := plan.Decode(append(b, sum[:]...))
		if err != nil {
			return
		}
		stubs, patches, err := stubs.Emit(p, 0x10000000, 0, stubs.Entries{Enter: 0x10000000, Go: 0x10000100, Block: 0x10000200, Leaf: 0x10000300, Way: 0x10000380, Call: 0x100003c0, Marks: 0x10000400})
		if err == nil && len(p.Hooks)+len(p.Marks)+len(p.Waypoints) > 0 && (len(stubs) == 0 || len(patches) == 0) {
			t.Error("hooks without stubs or patches")
		}
		again, err := plan.Decode(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, p) {
			t.Errorf("%+v became %+v", p, again)
		}
	})
}
