package summary

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/llm/metered"
)

// part is one question about a file.
type part struct {
	asked []int // items
	line  bool  // also the file's line
	metered.Question
}

// lineTokens is what a line of a reply may have, with its label.
const lineTokens = 64

// mostOutline is how many tokens the declarations may have that are not asked about.
const mostOutline = 2000

// question asks about the first of the open items that fit, and about the file's line if they
// are the last. note says what was wrong with an earlier reply.
func question(a asker, u *unit, its []item, open []int, line bool, seed, note string, room int) part {
	budget := room
	var p part
	for range 6 {
		p = assemble(a, u, its, open, line, seed, note, budget)
		over := a.Count(p.User) - room
		if over <= 0 {
			break
		}
		budget -= over + 32
	}
	return p
}

func assemble(a asker, u *unit, its []item, open []int, line bool, seed, note string, budget int) part {
	p := part{Question: metered.Question{Kind: "summary of " + Clean(u.Path, 300), System: system}}
	if a.Count(seed) > budget/4 {
		seed = ""
	}
	left := budget - a.Count(seed) - a.Count(note) - 400 // for the sentences around
	doc := fit(a, u.doc, max(min(left/8, 300), 0))
	left -= a.Count(doc)
	most := max(a.AnswerTokens()/lineTokens-1, 1)
	shown := map[int]string{}
	room := left - min(left/4, mostOutline)
	for _, i := range open {
		if len(p.asked) == most {
			break
		}
		text := source(u, &its[i], 8*max(room, 1))
		labels := 2*a.Count(its[i].label) + 8
		n := a.Count(text) + labels
		if n > room {
			if len(p.asked) > 0 {
				break
			}
			text = fit(a, text, room-labels)
			n = room
		}
		room -= n
		shown[i] = text
		p.asked = append(p.asked, i)
	}
	p.line = line && len(p.asked) == len(open)

	var data strings.Builder
	outline := min(left/4, mostOutline)
	hidden := 0
	for i := range its {
		text, asked := shown[i]
		if !asked {
			if outline <= 0 {
				hidden++
				continue
			}
			text = its[i].label
			if len(its[i].decls) == 1 {
				text = cutAt(u.Decls[its[i].decls[0]].Signature, 120)
			}
			if its[i].known {
				text += " // " + cutAt(its[i].text, 160)
			}
			if outline -= a.Count(text) + 1; outline < 0 {
				hidden++
				continue
			}
		}
		data.WriteString(text + "\n")
	}
	if hidden > 0 {
		fmt.Fprintf(&data, "// and %d declarations more\n", hidden)
	}

	var b strings.Builder
	if seed != "" {
		b.WriteString("The repository:\n" + fenced(seed))
	}
	b.WriteString("\nA file of it, its path, package and comment first:\n" + fenced(Clean(u.Path, 300)+"\npackage "+Clean(u.PackageName, 100)+" // "+Clean(u.Package, 300)+"\n"+doc+"\n\n"+data.String()))
	b.WriteString("\n")
	if note != "" {
		b.WriteString(note + "\n\n")
	}
	b.WriteString("Answer with these lines, in this order: the label as it is here, a colon, and one sentence of at most 25 words.")
	if slices.ContainsFunc(p.asked, func(i int) bool { return its[i].label == restLabel }) {
		b.WriteString(" \"rest\" is all that has no name.")
	}
	b.WriteString("\n\n")
	if p.line {
		b.WriteString(fileLabel + ": what the file is for\n")
	}
	for _, i := range p.asked {
		b.WriteString(its[i].label + ":\n")
	}
	p.User = b.String()
	return p
}

// source is the text of an item, of at most so many bytes.
func source(u *unit, x *item, most int) string {
	var b strings.Builder
	for _, i := range x.decls {
		if b.Len() > most {
			break
		}
		b.WriteString(strings.TrimRight(elide(string(u.Decls[i].With(u.text)), most), "\n") + "\n")
	}
	return elide(b.String(), most)
}

// sample is a reply in the form asked for, of usual length.
func (p *part) sample(u *unit, its []item) string {
	var b strings.Builder
	if p.line {
		b.WriteString(fileLabel + ": " + usual + "\n")
	}
	for _, i := range p.asked {
		b.WriteString(its[i].label + ": " + usual + "\n")
	}
	return b.String()
}

// usual is a sentence of usual length.
const usual = "Reads the named table from its file, checks the header, and returns its rows, or an error that names the line."

// wrong says what is wrong with a reply, for the next question; "" if nothing is. tries are the
// replies until now: a question that was asked before would get the answer that is kept.
func (p *part) wrong(its []item, r *reply, tries int) string {
	var missing []string
	if p.line && r.line == "" {
		missing = append(missing, fileLabel)
	}
	for _, i := range p.asked {
		if r.texts[i] == "" && len(missing) < 2*mostUnknown {
			missing = append(missing, its[i].label)
		}
	}
	if len(missing) == 0 {
		return "" // what is too much is dropped
	}
	note := "An earlier reply had no line for: " + strings.Join(missing, ", ") + "."
	if tries > 1 {
		note = fmt.Sprintf("None of %d earlier replies had a line for: %s.", tries, strings.Join(missing, ", "))
	}
	if len(r.unknown) > 0 {
		note += fmt.Sprintf(" The last one had lines for what the file does not declare: %q.", r.unknown)
	}
	return note
}
