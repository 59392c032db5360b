package breakpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tracerag/trace/recordtest"
)

// What is read from outside is what the program itself prints of its values, with a printer of its own.
func TestObserveAsTheProgramPrints(t *testing.T) {
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join("..", "rebuild", "testdata", "values.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/values\n\ngo 1.22\n", "main.go": string(source)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "values")
	build := exec.Command("go", "build", "-gcflags=all=-l", "-o", path)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Functions of the printer are let go.
	r := record(t, recordingTest{Job: job{Args: []string{path}, Include: []string{"main"}, MaxHits: 100, Observe: true, ObserveCalls: 16}})
	recordtest.SameActivations(t, r.Trace, r.Stdout, fromOutside)
}

// fromOutside is what is seen otherwise from outside: docs/recorders.md says so.
var fromOutside = map[string]string{
	// The code of a generic function knows how its values lie in memory, and not their types.
	`main.tGeneric[...](x *main.person = &{Name: "Ann", Age: 61, Parents: [nil, nil], address: {Street: "Main St", City: "Springfield"}, note: ""}) -> *main.person = &{Name: "Ann", Age: 61, Parents: [nil, nil], address: {Street: "Main St", City: "Springfield"}, note: ""}`: `main.tGeneric[...](x *uint8 = &...) -> *uint8 = &...`,
	`main.tGeneric[...](x error = *errors.errorString(&{s: "EOF"})) -> error = *errors.errorString(&{s: "EOF"})`:                                                                                                                                                                 `main.tGeneric[...](x interface { Error() string } = *errors.errorString(&{s: "EOF"})) -> interface { Error() string } = *errors.errorString(&{s: "EOF"})`,
	`main.tGeneric[...](x main.box[main.box[int8]] = {V: {V: 1}}) -> main.box[main.box[int8]] = {V: {V: 1}}`:                                                                                                                                                                     `main.tGeneric[...](x struct { V main.box[int8] } = {V: {V: 1}}) -> struct { V main.box[int8] } = {V: {V: 1}}`,
	`main.tGeneric[...](x main.celsius = 1.5) -> main.celsius = 1.5`:                                                                                                                                                                                                             `main.tGeneric[...](x float64 = 1.5) -> float64 = 1.5`,
	`main.tGeneric[...](x time.Time = 1970-01-01T00:00:00Z) -> time.Time = 1970-01-01T00:00:00Z`:                                                                                                                                                                                 `main.tGeneric[...](x struct { time.wall uint64; time.ext int64; time.loc *time... = {wall: 0, ext: 62135596800, loc: nil}) -> struct { time.wall uint64; time.ext int64; time.loc *time... = {wall: 0, ext: 62135596800, loc: nil}`,
	`main.tMapped[...](m map[main.name]*int = {"k": &33}, k main.name = "k") -> *int = &33, bool = true`:                                                                                                                                                                         `main.tMapped[...](m map[string]*uint8 = {"k": ...}, k string = "k") -> *uint8 = &..., bool = true`,
	`main.tConstrained[...](list []main.enum2 = [1, 2]) -> zero main.enum2 = 0`:                                                                                                                                                                                                  `main.tConstrained[...](list []int = [1, 2]) -> zero int = 0`,

	// In the names of types without a name, the package of each field that is not exported.
	`main.tAnonymous(a struct { A int; b int } = {A: 1, b: 2}) -> struct { C []string } = {C: ["c"]}`:                                       `main.tAnonymous(a struct { A int; main.b int } = {A: 1, b: 2}) -> struct { C []string } = {C: ["c"]}`,
	`main.tAny(x any = struct { X any; y any }({X: int(1), y: string("a")})) -> any = struct { X any; y any }({X: int(1), y: string("a")})`: `main.tAny(x any = struct { X any; main.y any }({X: int(1), y: string("a")})) -> any = struct { X any; main.y any }({X: int(1), y: string("a")})`,

	// Of types whose values may be their own elements.
	`main.tSelf(s main.self = [[[[...], []], []], []]) -> main.self = [[[[...], []], []]]`: `main.tSelf(s main.self = [...]) -> main.self = [...]`,

	`main.tAny(x any = main.self([[[[...], []], []], []])) -> any = main.self([[[[...], []], []], []])`:                                               `main.tAny(x any = main.self([...])) -> any = main.self([...])`,
	`main.tAny(x any = struct { L []any }({L: [main.self([[...], []]), int(1)]})) -> any = struct { L []any }({L: [main.self([[...], []]), int(1)]})`: `main.tAny(x any = struct { L []any }({L: [...]})) -> any = struct { L []any }({L: [...]})`,

	// Results called _ have no name.
	`main.tUnderscore(_ int = 1, s string = "s", _ []int = [1]) -> _ string = "s", n int = 2`: `main.tUnderscore(_ int = 1, s string = "s", _ []int = [1]) -> string = "s", n int = 2`,
}
