package prompt

import "strings"

// renderMarkdown writes a heading for each section and for each function, and
// what came out of the program in code blocks.
func renderMarkdown(parts []part) []segment {
	var segs []segment
	for _, p := range parts {
		s := segment{section: p.name(), text: markdownHead(&p)}
		switch p.kind {
		case partTree, partCallers:
			s.text += codeBlock("text", p.text)
		case partNotes, partProcesses, partModules:
			for note := range strings.Lines(p.text) {
				s.text += "- " + note
			}
			s.text = strings.TrimRight(s.text, "\n") + "\n\n"
		case partSources, partTypes:
			segs = append(segs, s)
			for _, it := range p.items {
				text := markdownItem(it)
				segs = append(segs, segment{s.section, text, []use{{it, text}}})
			}
			if p.left > 0 {
				segs = append(segs, segment{section: s.section, text: p.leftOut() + "\n\n"})
			}
			continue
		default:
			s.text += strings.TrimRight(p.text, "\n") + "\n\n"
		}
		segs = append(segs, s)
	}
	if n := len(segs); n > 0 {
		last := &segs[n-1]
		last.text = strings.TrimRight(last.text, "\n") + "\n"
		for i := range last.uses {
			last.uses[i].text = last.text
		}
	}
	return segs
}

func markdownHead(p *part) string {
	switch p.kind {
	case partQuestion:
		return "## Question\n\n"
	case partComparison:
		return "## Comparison\n\n"
	case partModules:
		return "## Modules\n\nFiles outside of the main module begin with a short name:\n\n"
	case partNotes:
		return "## " + p.heading + of(p) + " lacks\n\n"
	case partProcesses:
		return "## Processes" + of(p) + "\n\nPrograms that the run started, and the command lines of their processes:\n\n"
	case partTree, partCallers:
		h := "## " + p.heading + of(p)
		if p.command != "" {
			h += ": " + codeSpan(p.command)
		}
		return h + "\n\n"
	case partSources:
		return "## Sources" + of(p) + "\n\n"
	case partTypes:
		return "## Types\n\n"
	case partNames:
		return "## Left out\n\n"
	}
	return ""
}

// of says which run a section is about: " of run A".
func of(p *part) string {
	switch {
	case p.run == "":
		return ""
	case p.run == bothRuns:
		return " of both runs"
	case p.only:
		return " of run " + p.run + " only"
	}
	return " of run " + p.run
}

// markdownItem is a function's heading and code block.
func markdownItem(it *item) string {
	if it.kept.marked == "" {
		head := "### " + it.name
		if it.position != "" {
			head += "  " + it.position
		}
		head += "\n"
		if it.note != "" {
			head += "Note: " + it.note + ".\n"
		}
		if it.text == "" {
			it.kept.marked = head + "\n"
		} else {
			it.kept.marked = head + codeBlock(it.lang, it.text)
		}
	}
	return it.kept.marked
}

// codeBlock fences a text with more backticks than it has in a row anywhere.
func codeBlock(lang, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n\n"
}

// codeSpan quotes a text within a line.
func codeSpan(text string) string {
	n := longestRun(text, '`')
	if n == 0 {
		return "`" + text + "`"
	}
	// A backtick at either end must not touch the delimiter.
	tick := strings.Repeat("`", n+1)
	return tick + " " + text + " " + tick
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
