package summary

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tracerag/knowledge"
	"tracerag/llm/metered"
	"tracerag/visible"
)

// Above makes the summaries of packages and of the repository that are above the files: of each
// package whose files all have a line, and of the repository if all packages have theirs.
func (k *Maker) Above(ctx context.Context, r *knowledge.Repository) error {
	packages, err := k.Book.packages(ctx, r.ID)
	if err != nil {
		return err
	}
	all := len(packages) > 0
	var about []string
	for i := range packages {
		p := &packages[i]
		if !p.kept && p.complete {
			if err := k.pkg(ctx, r, p); err != nil {
				return fmt.Errorf("package %s: %w", visible.Line(p.ImportPath), err)
			}
		}
		all = all && p.kept
		about = append(about, Clean(p.Dir, most)+": "+p.Text)
	}
	if !all {
		return nil
	}
	key := repositoryKey(packages)
	if kept, err := k.Book.kept(ctx, []knowledge.SummaryKey{key}); err != nil || len(kept) > 0 {
		return err
	}
	made, release, err := k.alone(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	if made != nil {
		return nil
	}
	x := knowledge.Summary{SummaryKey: key, Text: packages[0].Text}
	if len(packages) > 1 {
		if x.Text, err = k.paragraph(ctx, "repository "+Clean(r.Name, 200), "its packages", about); err != nil {
			return fmt.Errorf("repository %s: %w", visible.Line(r.Name), err)
		}
		if x.Text == "" {
			x.Text, x.Substitute = repositoryText(r, packages), true
		}
	}
	return k.set(ctx, x)
}

// pkg makes the summary of a package. That of one file is the file's.
func (k *Maker) pkg(ctx context.Context, r *knowledge.Repository, p *pkg) error {
	made, release, err := k.alone(ctx, p.key)
	if err != nil {
		return err
	}
	defer release()
	if made != nil {
		p.Text, p.kept = made.Text, true
		return nil
	}
	x := knowledge.Summary{SummaryKey: p.key}
	if len(p.lines) == 1 {
		_, x.Text, _ = strings.Cut(p.lines[0], ": ")
	} else {
		var err error
		if x.Text, err = k.paragraph(ctx, "package "+Clean(p.ImportPath, 200)+" of repository "+Clean(r.Name, 200), "its files", p.lines); err != nil {
			return err
		}
		if x.Text == "" {
			x.Text, x.Substitute = packageText(p.lines), true
		}
	}
	p.Text, p.kept = x.Text, true
	return k.set(ctx, x)
}

// paragraph says what the parts of something do together. Parts that do not fit are put
// together in rounds. It is "" if no reply was right.
func (k *Maker) paragraph(ctx context.Context, of, kind string, parts []string) (string, error) {
	a := k.asker()
	for round := 1; ; round++ {
		room := room(a)*9/10 - 300 // masking may make it longer
		var groups [][]string
		left := 0
		for _, p := range parts {
			p = fit(a, p, max(room/2, 1))
			n := a.Count(p) + 1
			if n > left || len(groups) == 0 {
				groups = append(groups, nil)
				left = room
			}
			left -= n
			groups[len(groups)-1] = append(groups[len(groups)-1], p)
		}
		if len(groups) == 1 {
			return k.together(ctx, of, kind, groups[0])
		}
		if len(groups) >= len(parts) {
			return "", nil // nothing would get shorter
		}
		var next []string
		for i, g := range groups {
			text, err := k.together(ctx, fmt.Sprintf("a part of %s, the %d. of %d", of, i+1, len(groups)), kind, g)
			if err != nil {
				return "", err
			}
			if text == "" {
				text = cutAt(strings.Join(g, "; "), longestParagraph/2)
			}
			next = append(next, text)
		}
		parts, kind = next, "its parts"
	}
}

// together asks what some parts do together.
func (k *Maker) together(ctx context.Context, of, kind string, parts []string) (string, error) {
	note := ""
	for range 1 + further {
		text, err := k.asker().Ask(ctx, metered.Question{Kind: "summary of " + of, System: system, User: "Of " + of + ": " + kind + ", each with what it does.\n" + fenced(strings.Join(parts, "\n")) +
			"\nSay in at most 80 words what it does as a whole, for whom, and which of these has which part of it." + note + " One paragraph."}, paragraph)
		if _, tooLong := errors.AsType[*metered.TooLongError](err); tooLong {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if text = Clean(text, longestParagraph); text != "" {
			return text, nil
		}
		note += " An earlier reply was empty."
	}
	return "", nil
}
