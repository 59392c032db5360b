package summary

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"tracerag/knowledge"
	"tracerag/llm/metered"
)

// seed is what a question about a file says of the repository around: what a file does for the
// repository is what a report speaks of. It is in no key, so that a new directory does not make
// all summaries old.
type seed struct {
	once sync.Mutex
	text string
	made bool
}

const (
	// seedBytes is what it has at most. More is condensed by one question.
	seedBytes = 2000
	// materialBytes is what that question has of the repository at most.
	materialBytes = 24_000
	readmeBytes   = 1500
)

// seed returns the seed of a repository. It is made for the first file that needs it.
func (k *Maker) seed(ctx context.Context, r *knowledge.Repository) (string, error) {
	k.mu.Lock()
	if k.seeds == nil {
		k.seeds = map[int64]*seed{}
	}
	s := k.seeds[r.ID]
	if s == nil {
		s = &seed{}
		k.seeds[r.ID] = s
	}
	k.mu.Unlock()
	s.once.Lock()
	defer s.once.Unlock()
	if s.made {
		return s.text, nil
	}
	material, err := k.material(ctx, r)
	if err != nil {
		return "", err
	}
	s.text = material
	if len(material) > seedBytes {
		a := k.asker()
		text, err := smaller(ctx, a, room(a), func(room int) (metered.Question, func() string) {
			return metered.Question{Kind: "what " + Clean(r.Name, 200) + " is", System: system, User: "Of a repository: its modules, the beginning of its readme, and its packages with their comments.\n" +
				fenced(fit(a, cutAt(material, materialBytes), room-200)) +
				"\nSay in at most 150 words what the repository is for, what its main parts are, and which package has which part. One paragraph."}, paragraph
		})
		if err != nil {
			return "", fmt.Errorf("what %s is: %w", Clean(r.Name, 200), err)
		}
		if s.text = Clean(text, seedBytes); s.text == "" {
			s.text = cutAt(material, seedBytes)
		}
	}
	s.made = true
	return s.text, nil
}

// paragraph is a reply of usual length.
func paragraph() string { return strings.Repeat(usual+" ", 5) }

// material is what is said of a repository without its code.
func (k *Maker) material(ctx context.Context, r *knowledge.Repository) (string, error) {
	files, err := k.Book.Store.Product(ctx, r.ID)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, m := range r.Modules {
		if i == 20 {
			break
		}
		fmt.Fprintf(&b, "module %s\n", Clean(m.Path, 200))
	}
	for _, name := range []string{"README.md", "README", "readme.md", "README.txt"} {
		if text, err := k.Book.Read(r, name); err == nil {
			b.WriteString(readme(string(text[:min(len(text), 16*readmeBytes)])) + "\n")
			break
		}
	}
	by := map[string][]knowledge.File{}
	var packages []string
	for _, f := range files {
		if by[f.Package] == nil {
			packages = append(packages, f.Package)
		}
		by[f.Package] = append(by[f.Package], f)
	}
	slices.Sort(packages)
	for i, p := range packages {
		if b.Len() > materialBytes {
			fmt.Fprintf(&b, "and %d packages more\n", len(packages)-i)
			break
		}
		fmt.Fprintf(&b, "package %s: %s\n", Clean(path.Dir(by[p][0].Path), 200), k.synopsis(r, by[p]))
	}
	return b.String(), nil
}

// synopsis is the first sentence of a package's comment, of the files in which that usually is.
func (k *Maker) synopsis(r *knowledge.Repository, files []knowledge.File) string {
	likely := slices.Clone(files)
	rank := func(f knowledge.File) int {
		switch base := path.Base(f.Path); base {
		case "doc.go":
			return 0
		case path.Base(path.Dir(f.Path)) + ".go", f.PackageName + ".go", "main.go":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(likely, func(a, b knowledge.File) int { return rank(a) - rank(b) })
	for _, f := range likely[:min(len(likely), 3)] {
		if text, err := k.Book.Read(r, f.Path); err == nil {
			if doc, _ := packageDoc(text); doc != "" {
				return Clean(sentence(doc), most)
			}
		}
	}
	return fmt.Sprintf("%d files", len(files))
}

// readme is the beginning of a readme without pictures and markup.
func readme(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "[![") || strings.HasPrefix(line, "![") || strings.HasPrefix(line, "<") {
			continue
		}
		b.WriteString(Clean(line, 400) + "\n")
		if b.Len() > readmeBytes {
			break
		}
	}
	return b.String()
}
