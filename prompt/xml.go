package prompt

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// renderXML writes an element for each section and each function. What came
// out of the program is in CDATA sections: a model reads code better
// unescaped.
func renderXML(parts []part) []segment {
	var segs []segment
	for _, p := range parts {
		name := strings.ReplaceAll(string(p.kind), " ", "_")
		open := "<" + name
		if p.run != "" {
			open += attr("run", p.run)
		}
		if p.only {
			open += attr("only", "true")
		}
		if p.command != "" {
			open += attr("command", p.command)
		}
		open += ">\n"
		end := "</" + name + ">\n"
		if !p.kind.lists() {
			segs = append(segs, segment{section: p.name(), text: open + cdata(p.text) + end})
			continue
		}
		segs = append(segs, segment{section: p.name(), text: open})
		for _, it := range p.items {
			text := xmlItem(it)
			segs = append(segs, segment{p.name(), text, []use{{it, text}}})
		}
		if p.left > 0 {
			end = "<left_out" + attr(p.kind.of(), strconv.Itoa(p.left)) + "/>\n" + end
		}
		segs = append(segs, segment{section: p.name(), text: end})
	}
	return frame("<prompt>\n", segs, "</prompt>\n")
}

func xmlItem(it *item) string {
	element := "function"
	if it.declaration {
		element = "declaration"
	}
	open := "<" + element + attr("name", it.name)
	if it.position != "" {
		open += attr("position", it.position)
	}
	if it.note != "" {
		open += attr("note", it.note)
	}
	if it.tier != TierFull {
		open += attr("shown", it.tier.String())
	}
	if it.text == "" {
		return open + "/>\n"
	}
	return open + ">\n" + cdata(it.text) + "</" + element + ">\n"
}

func attr(name, value string) string {
	var b strings.Builder
	b.WriteString(" " + name + `="`)
	_ = xml.EscapeText(&b, []byte(xmlChars(value))) // a strings.Builder does not fail
	b.WriteByte('"')
	return b.String()
}

// cdata quotes a text. Its own end mark is split over two sections.
func cdata(s string) string {
	s = strings.ReplaceAll(xmlChars(strings.TrimRight(s, "\n")), "]]>", "]]]]><![CDATA[>")
	return "<![CDATA[\n" + s + "\n]]>\n"
}

// xmlChars replaces what no XML document may hold.
func xmlChars(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, s)
}

// frame puts a beginning and an end around the segments, inside the first and
// the last section so that the sections stay the whole.
func frame(begin string, segs []segment, end string) []segment {
	if len(segs) == 0 {
		return []segment{{section: "frame", text: begin + end}}
	}
	segs[0].text = begin + segs[0].text
	segs[len(segs)-1].text += end
	return segs
}
