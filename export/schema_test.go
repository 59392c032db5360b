package export

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSchemaHasTheFieldsThatAreWritten holds docs/schema/trace-1.json to the types
// that the lines are written from: the same fields, and those that are always
// written are required. (That a whole output satisfies it is seen by a validator, in
// cmd/tracerag's TestOtherTools.)
func TestSchemaHasTheFieldsThatAreWritten(t *testing.T) {
	data, err := os.ReadFile("../docs/schema/trace-1.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		OneOf []map[string]string `json:"oneOf"`
		Defs  map[string]object   `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"const": "`+Schema+`"`) {
		t.Errorf("it is not that of %s", Schema)
	}
	for name, line := range map[string]any{"trace": jsonHeader{}, "function": jsonFunction{}, "node": jsonNode{}, "loss": jsonLoss{}, "activation": jsonActivation{}, "process": jsonProcess{}} {
		schema.Defs[name].check(t, name, reflect.TypeOf(line), schema.Defs)
		if !slices.ContainsFunc(schema.OneOf, func(m map[string]string) bool { return m["$ref"] == "#/$defs/"+name }) {
			t.Errorf("a line of type %s is none that it takes", name)
		}
	}
	if len(schema.OneOf) != 6 {
		t.Errorf("%d types of lines, want 6", len(schema.OneOf))
	}
}

// object is a schema, of an object or of something else.
type object struct {
	Type       string            `json:"type"`
	Ref        string            `json:"$ref"`
	Required   []string          `json:"required"`
	Properties map[string]object `json:"properties"`
	Items      *object           `json:"items"`
}

func (o object) check(t *testing.T, path string, typ reflect.Type, defs map[string]object) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if o.Ref != "" {
		name := strings.TrimPrefix(o.Ref, "#/$defs/")
		if path != name && !strings.HasSuffix(path, ".replace") { // a module may replace a module
			defs[name].check(t, path, typ, defs)
		}
		return
	}
	switch {
	case typ.Kind() == reflect.Slice:
		if o.Type != "array" || o.Items == nil {
			t.Errorf("%s: %s, want a list", path, o.Type)
			return
		}
		o.Items.check(t, path, typ.Elem(), defs)
	case typ.Kind() == reflect.Struct && typ.PkgPath() != "time":
		if o.Type != "object" {
			t.Errorf("%s: %s, want an object", path, o.Type)
		}
		seen := map[string]bool{}
		for _, f := range reflect.VisibleFields(typ) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "" || name == "-" {
				continue
			}
			seen[name] = true
			p, ok := o.Properties[name]
			if !ok {
				t.Errorf("%s has no %s", path, name)
				continue
			}
			if always := !strings.Contains(options, "omit"); always != slices.Contains(o.Required, name) {
				t.Errorf("%s.%s: always written is %v, required the contrary", path, name, always)
			}
			p.check(t, path+"."+name, f.Type, defs)
		}
		for name := range o.Properties {
			if !seen[name] {
				t.Errorf("%s: nothing writes %s", path, name)
			}
		}
	}
}
