package trace

import (
	"reflect"
	"strings"
	"testing"
)

// loud marks all that it is given.
type loud struct{}

func (loud) Text(s string) string { return "masked " + s }

func (loud) Value(_, s string) string { return "masked " + s }

func (loud) Args(argv []string) []string {
	var out []string
	for _, a := range argv {
		out = append(out, "masked "+a)
	}
	return out
}

// TestMaskedMasksEverything fills every text of a trace and looks which come out
// masked: one that is added to the model has to be masked, or listed here
// because it holds none of the program's data.
func TestMaskedMasksEverything(t *testing.T) {
	plain := map[string]bool{
		"Recorder": true, "Dir": true, "Exit.Signal": true, "Include": true, "Exclude": true, "Baseline": true, "Test.Name": true, "Test.Package": true,
		"Program.Path": true, "Program.BuildID": true, "Program.GoVersion": true, "Program.GOOS": true, "Program.GOARCH": true, "Program.MainPath": true,
		"Program.Main.Path": true, "Program.Main.Version": true, "Program.Main.Sum": true, "Program.Deps.Path": true, "Program.Deps.Version": true,
		"Program.Deps.Sum": true, "Program.Settings.Key": true,
		"Functions.Name": true, "Functions.Package": true, "Functions.File": true, "Nodes.Root": true, "Nodes.Go.Func": true, "Nodes.Go.File": true,
		"Lines.States": true, "Losses.Kind": true, "Losses.Function": true, "Processes.Program": true, "Processes.Trace": true, "Processes.Main": true,
		"Activations.Args.Name": true, "Activations.Args.Type": true, "Activations.Args.Unread": true,
		"Activations.Results.Name": true, "Activations.Results.Type": true, "Activations.Results.Unread": true,
	}
	tr := &Trace{}
	fill(reflect.ValueOf(tr).Elem())
	masked := map[string]bool{}
	texts(reflect.ValueOf(*tr.Masked(loud{})), "", func(path, text string) { masked[path] = strings.HasPrefix(text, "masked ") })
	for path, ok := range masked {
		if ok == plain[path] {
			t.Errorf("%s: masked is %v", path, ok)
		}
	}
	for path := range plain {
		if _, ok := masked[path]; !ok {
			t.Errorf("there is no %s any more", path)
		}
	}
	texts(reflect.ValueOf(*tr), "", func(path, text string) {
		if text != "text" {
			t.Errorf("%s of the trace itself is changed to %q", path, text)
		}
	})
}

// fill gives every string of a value a text, and every list and map an element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e)
		v.SetMapIndex(reflect.Zero(v.Type().Key()), e)
	}
}

// texts yields every string of a value with the names of the fields on the way.
func texts(v reflect.Value, path string, yield func(path, text string)) {
	switch v.Kind() {
	case reflect.String:
		yield(path, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				texts(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), yield)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), path, yield)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			texts(v.MapIndex(k), path, yield)
		}
	}
}

// byName masks what goes by the name "password".
type byName struct{ loud }

func (byName) Value(name, s string) string {
	if name == "password" || name == "Password" {
		return "masked"
	}
	return s
}

// What follows a key goes by the key, and a value of a type of its own by its name, too.
func TestMaskedValuesGoByKeysAndTypes(t *testing.T) {
	tr := &Trace{Activations: []Activation{{Args: []Value{{Name: "key", Text: `"password"`}, {Name: "value", Text: `"x"`}, {Name: "n", Text: `"y"`}},
		Results: []Value{{Type: "config.Password", Text: `"z"`}}}}}
	var got []string
	for v := range tr.Masked(byName{}).EachValue() {
		got = append(got, v.Text)
	}
	if want := []string{`"password"`, "masked", `"y"`, "masked"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
