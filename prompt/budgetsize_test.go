package prompt

import "testing"

// A prompt to be pasted is whole up to 32,000 tokens, and the best of it above. With a
// model, another budget, or as one of the paper's variants it is what it is.
func TestPaste(t *testing.T) {
	long := large(1500, 1)
	long.Score = about("pkg17.Function17")
	for _, tt := range []struct {
		name string
		in   Input
		o    Options
		cut  bool
	}{
		{"short", inputCSV(t), Options{}, false},
		{"long", long, Options{}, true},
		{"for a model", long, Options{Model: "gpt-4o"}, false},
		{"of the paper", long, Options{Variant: Full}, false},
	} {
		whole := build(t, tt.in, tt.o)
		tt.o.Paste()
		p := build(t, tt.in, tt.o)
		switch {
		case tt.cut && (whole.Total <= LongFrom || p.Total > LongFrom || !p.LeftOut()):
			t.Errorf("%s: %d of %d tokens, left out: %v", tt.name, p.Total, whole.Total, p.LeftOut())
		case !tt.cut && (p.Text != whole.Text || p.LeftOut()):
			t.Errorf("%s: %d tokens, whole it has %d, left out: %v", tt.name, p.Total, whole.Total, p.LeftOut())
		}
	}
	o := Options{Budget: 400}
	if o.Paste(); o.Budget != 400 {
		t.Errorf("a budget of 400 is %d", o.Budget)
	}
}
