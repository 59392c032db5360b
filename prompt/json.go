package prompt

import (
	"encoding/json"
	"strings"
)

// jsonSection is a section in the JSON format:
//
//	{"sections":[
//	{"section":"question","text":"why?"},
//	{"section":"call tree","run":"A","command":"./app","text":"main.main\n"},
//	{"section":"sources","run":"A","functions":[
//	{"name":"main.main","position":"main.go:10-12","source":"func main() {\n..."}
//	]}
//	]}
//
// Sections are an array so that they keep their order and may come twice. The
// tree is text: nested objects take three to five times the tokens.
type jsonSection struct {
	Section string `json:"section"`
	Run     string `json:"run,omitempty"` // "both" of two
	Only    bool   `json:"only,omitempty"`
	Command string `json:"command,omitempty"`
	Text    string `json:"text,omitempty"`
	LeftOut int    `json:"left_out,omitempty"` // functions of sources, or declarations of types
}

type jsonFunction struct {
	Name     string `json:"name"`
	Position string `json:"position,omitempty"`
	Note     string `json:"note,omitempty"`
	Shown    string `json:"shown,omitempty"` // a [Tier]; "" is all
	Source   string `json:"source,omitempty"`
}

func renderJSON(parts []part) []segment {
	var segs []segment
	for i, p := range parts {
		comma := ",\n"
		if i == len(parts)-1 {
			comma = "\n"
		}
		head := marshal(jsonSection{string(p.kind), p.run, p.only, p.command, p.text, p.left})
		if !p.kind.lists() {
			segs = append(segs, segment{section: p.name(), text: head + comma})
			continue
		}
		segs = append(segs, segment{section: p.name(), text: strings.TrimSuffix(head, "}") + `,"` + p.kind.of() + `":[` + "\n"})
		for j, it := range p.items {
			text := jsonItem(it)
			if j < len(p.items)-1 {
				text += ","
			}
			text += "\n"
			segs = append(segs, segment{p.name(), text, []use{{it, text}}})
		}
		segs = append(segs, segment{section: p.name(), text: "]}" + comma})
	}
	return frame("{\"sections\":[\n", segs, "]}\n")
}

func jsonItem(it *item) string {
	f := jsonFunction{Name: it.name, Position: it.position, Note: it.note, Source: it.text}
	if it.tier != TierFull {
		f.Shown = it.tier.String()
	}
	return marshal(f)
}

// marshal encodes v on one line, with "<", ">" and "&" as they are: escaped
// they would cost three tokens each, and this is no web page.
func marshal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("prompt: " + err.Error()) // structs of strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}
