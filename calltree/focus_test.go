package calltree_test

import (
	"slices"
	"testing"

	"tracerag/calltree"
)

// TestNamesOfFunctions are the ways to write a function's name.
func TestNamesOfFunctions(t *testing.T) {
	const next, flush = "github.com/alecthomas/chroma/v2.(*Iter).Next", "example.com/app/table.(*Writer).Flush"
	tree, err := calltree.Build(parseTrace(t, "main main.main\n  "+next+"\n  "+flush+"\n"), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"github.com/alecthomas/chroma/v2.(*Iter).Next": {next},
		"chroma.(*Iter).Next":                          {next}, // as trees show it
		"chroma.Iter.Next":                             {next},
		"v2.(*Iter).Next":                              {next}, // by the import path's last element
		"Iter.Next":                                    {next},
		"Next":                                         {next},
		"chroma.*":                                     {next},
		"table.(*Writer).Flush":                        {flush},
		"*.Flush":                                      {flush},
		"main.*":                                       {"main.main"},
		"*.(*Writer).*":                                {flush},
		"*e*":                                          {next, flush},
	} {
		got, err := tree.Functions(pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q finds %q, %v, want %q", pattern, got, err, want)
		}
	}
}
