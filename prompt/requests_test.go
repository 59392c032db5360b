package prompt

import (
	"slices"
	"strings"
	"testing"
)

// A reply says what the model wants to read, or is the answer. Models do not always keep
// to the form.
func TestParseReply(t *testing.T) {
	tests := []struct {
		name, reply string
		reads       bool
		want        string // requests, or the answer
	}{
		{"as asked for", "READ\ntable.(*Table).Render\ncallers main.run\np3\nbig.F:310-480\n", true, "table.(*Table).Render, callers main.run, p3, big.F:310-480"},
		{"in a code block", "```\nREAD\nmain.run\n```", true, "main.run"},
		{"words first", "I need to see some sources.\n\nREAD\nmain.run\nmain.show\n", true, "main.run, main.show"},
		{"bold, with bullets and quotes", "**READ**\n- `main.run`\n* \"main.show\"\n3. main.main()", true, "main.run, main.show, main.main"},
		{"on one line", "READ main.run, table.Map[K,V], callees main.show", true, "main.run, table.Map[K,V], callees main.show"},
		{"behind a colon", "READ: main.run, main.show", true, "main.run, main.show"},
		{"as JSON", "READ\n[\n  \"main.run\",\n  \"main.show\"\n]", true, "main.run, main.show"},
		{"as an object", "```json\n{\"READ\": [\"main.run\", \"callers main.show\"]}\n```", true, "main.run, callers main.show"},
		{"an object behind the word", "READ\n{\"requests\": [\"main.run\"]}", true, "main.run"},
		{"in lower case", "read\nmain.run", true, "main.run"},
		{"an answer that is an object", "{\"read\": 3}", false, "{\"read\": 3}"},
		{"with reasons", "READ\nmain.run - it starts all\nmain.show (draws)\nmain.x  # perhaps", true, "main.run, main.show, main.x"},
		{"then prose", "READ\nmain.run\nThis function seems to decide how things look, I think.\nmain.show", true, "main.run"},
		{"twice the same", "READ\nmain.run\nmain.run", true, "main.run"},
		{"and an answer", "READ\nmain.run\n\nANSWER\nIt is main.run.", true, "main.run"},
		{"lines the wrong way round", "READ\nmain.run:20-10", true, "main.run:10-20"},
		{"one line", "READ\nmain.run:20", true, "main.run:20-20"},
		{"reads nothing", "READ", true, ""},
		{"an answer", "ANSWER\nIt is `main.run`.\nREAD the manual.", false, "It is `main.run`.\nREAD the manual."},
		{"an answer behind a colon", "ANSWER: It is `main.run`.", false, "It is `main.run`."},
		{"an answer without the word", "It is `main.run`.\n\nREAD on.", false, "It is `main.run`.\n\nREAD on."},
		{"an answer about reading", "## Why\n\nREAD is a constant of the protocol, and not a function.", false, "## Why\n\nREAD is a constant of the protocol, and not a function."},
		{"an answer that quotes a request", "It is `main.run`. I asked for\n\nREAD main.run\n\nand there it says so.", false, "It is `main.run`. I asked for\n\nREAD main.run\n\nand there it says so."},
		{"an answer that quotes a list", "It is `main.run`:\n\nREAD\nmain.run\nThat was enough, so there is no need to look further.", false, "It is `main.run`:\n\nREAD\nmain.run\nThat was enough, so there is no need to look further."},
		{"words first and last", "I need a source.\n\nREAD\nmain.run\n\nThen I can answer.", true, "main.run"},
		{"an answer in thoughts", "<think>\nANSWER\nIt may be main.show.\n</think>\nREAD\nmain.run", true, "main.run"},
		{"requests in thoughts", "<think>\nREAD\nmain.show\n</think>\n\nANSWER\nIt is `main.run`.", false, "It is `main.run`."},
		{"nothing", " \n", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reads, requests, answer := ParseReply(tt.reply)
			got := answer
			if reads {
				var list []string
				for _, q := range requests {
					list = append(list, q.String())
				}
				got = strings.Join(list, ", ")
			}
			if reads != tt.reads || got != tt.want {
				t.Errorf("got %t %q, want %t %q", reads, got, tt.reads, tt.want)
			}
		})
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add("READ\nmain.run:1-2\n- `x.(*T).M` - because\np3")
	f.Add("words\nREAD [\"a.b\", {\"c\": [1,2]}")
	f.Add("ANSWER\nx")
	f.Fuzz(func(t *testing.T, reply string) {
		reads, requests, answer := ParseReply(reply)
		if reads && answer != "" || !reads && len(requests) > 0 {
			t.Fatalf("both: %v and %q", requests, answer)
		}
		if len(requests) > mostRequests {
			t.Fatalf("%d requests", len(requests))
		}
		for _, q := range requests {
			if q.Name == "" || strings.ContainsAny(q.Name, "\n\r") || q.From > q.To {
				t.Fatalf("request %#v", q)
			}
			if again, ok := parseRequest(q.String()); !ok || again != q {
				t.Fatalf("%q is read back as %#v, not %#v", q, again, q)
			}
		}
		if !reads && !strings.Contains(reply, "ANSWER") && answer != strings.TrimSpace(reply) {
			t.Fatalf("an answer was changed: %q", answer)
		}
	})
}

// A name is found as people and models write it.
func TestFind(t *testing.T) {
	r, err := NewReader(inputCSV(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"csvview.(*Table).Render":                 {"csvview.(*Table).Render"},
		"example.com/tab/csvview.(*Table).Render": {"csvview.(*Table).Render"},
		"(*Table).Render":                         {"csvview.(*Table).Render"},
		"Table.Render":                            {"csvview.(*Table).Render"},
		"Render":                                  {"csvview.(*Table).Render"},
		"csvview.Render":                          {"csvview.(*Table).Render"},
		"csvview.(*Table).Render.func1":           {"csvview.(*Table).Render"},
		"csvview.Max[int]":                        {"csvview.Max"},
		"tab/csvview.pad":                         {"csvview.pad"},
		"csvview.Pad":                             nil,
		"()":                                      nil,
		"ender":                                   nil,
	} {
		var got []string
		for _, e := range r.find(name) {
			got = append(got, e.fullName())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", name, got, want)
		}
	}
	if got := r.nearest("csvview.padd"); !slices.Contains(got, "csvview.pad") {
		t.Errorf("near padd: %v", got)
	}
}
