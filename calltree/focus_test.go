package calltree_test

import (
	"slices"
	"testing"

	"tracerag/calltree"
)

// TestNamesOfFunctions are the ways to write a function's name.
func TestNamesOfFunctions(t *testing.T) {
	const (
		next  = "github.com/alecthomas/chroma/v2.(*Iter).Next"
		flush = "example.com/app/table.(*Writer).Flush"
		load  = "gopkg.in/yaml%2ev3.Load"
		grow  = "example.com/app/table.(*Größe[go.shape.int]).Grow"
	)
	tree, err := calltree.Build(parseTrace(t, "main main.main\n  "+next+"\n  "+flush+"\n  "+load+"\n  "+grow+"\n"), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"github.com/alecthomas/chroma/v2.(*Iter).Next": {next},
		"chroma.(*Iter).Next":                          {next}, // as trees show it
		"chroma.Iter.Next":                             {next},
		"v2.(*Iter).Next":                              {next}, // by the import path's end
		"chroma/v2.(*Iter).Next":                       {next},
		"hroma/v2.Iter.Next":                           nil,
		"Iter.Next":                                    {next},
		"Next":                                         {next},
		"chroma.*":                                     {next},
		"table.(*Writer).Flush":                        {flush},
		"table.Flush":                                  {flush}, // a method of any type of the package
		"app/table.Flush":                              {flush},
		"table.Writer":                                 {flush}, // a type's methods
		"table.Größe":                                  {grow},  // also of a generic one
		"app/table.(*Größe[int])":                      {grow},
		"table.Größ":                                   nil,
		"chroma.Next":                                  {next},
		"table.Fl*":                                    {flush},
		"able.Flush":                                   nil,
		"*.Flush":                                      {flush},
		"gopkg.in/yaml%2ev3.Load":                      {load},
		"gopkg.in/yaml.v3.Load":                        {load},
		"yaml.v3.Load":                                 {load},
		"yaml.Load":                                    {load},
		"gopkg.in/*":                                   {load},
		"main.*":                                       {"main.main"},
		"*.(*Writer).*":                                {flush},
		"*e*":                                          {next, flush, grow},
	} {
		got, err := tree.Functions(pattern)
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q finds %q, %v, want %q", pattern, got, err, want)
		}
	}
}
