package guided

import (
	"context"
	"path"
	"path/filepath"
	"slices"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/summary"
)

// What a level asks for, as in the paper (k = 3, k = 10) where it says so; how many choices of
// words are carried along beside the model's; and how long a list may be.
const (
	routedRepositories = 3
	chosenPackages     = 8
	chosenFiles        = 10
	carried            = 5
	// What is asked about all levels together has about 14,000 tokens at most.
	packageTokens, fileTokens, functionTokens = 3500, 4500, 6500
	// fewPackages are not worth a question of their own.
	fewPackages = 3
	// readFiles is how many files a list has more of than names.
	readFiles = 150
)

// levels asks from the top down: which repositories, which packages in them, which files in
// those, and which functions. A question about one repository, or a few packages, is left out.
func (g *Guide) levels(ctx context.Context, q locate.Question) (*Answer, error) {
	t, err := g.begin(ctx, q, Levels)
	if err != nil {
		return nil, err
	}
	way := map[string]Step{} // by repository, package, file
	if err := t.chooseRepositories(way); err != nil {
		return t.end(locate.Order{}, err)
	}
	packages, err := t.choosePackages(way)
	if err != nil {
		return t.end(locate.Order{}, err)
	}
	files, err := t.chooseFiles("levels: files", packages, chosenFiles, fileTokens, way)
	if err != nil || len(files) == 0 {
		return t.end(locate.Order{}, err)
	}
	if err := t.summarise(files); err != nil {
		return t.end(locate.Order{Files: files}, err)
	}
	all, err := t.functionsOf(files, t.candidatesIn(files))
	if err != nil {
		return t.end(locate.Order{Files: files}, err)
	}
	t.wayTo(all, way)
	functions, err := t.chooseFunctions("levels: functions", "Which of these functions is the report about: which would a fix of it change?", all, functionTokens)
	return t.end(locate.Order{Functions: functions, Files: files}, err)
}

// chooseRepositories leads the question to some of several repositories.
func (t *task) chooseRepositories(way map[string]Step) error {
	if len(t.repos) < 2 {
		return nil
	}
	items := make([]item, len(t.repos))
	for i := range t.repos {
		items[i].names = []string{t.repos[i].Name}
		if i < readFiles {
			text, packages, err := t.Book.Repository(t.ctx, &t.repos[i])
			if err != nil {
				return err
			}
			t.packages[t.repos[i].ID] = packages
			items[i].lines = []string{text}
		}
	}
	picks, err := t.choose(query{kind: "levels: repositories", ask: "Which of these repositories is the report about: in which is its cause?",
		items: items, most: routedRepositories, tokens: packageTokens})
	if err != nil {
		return err
	}
	repos := t.repos
	var ids []int64
	for _, p := range withCarried(picks, len(items), routedRepositories, 1) {
		r := &repos[p.at]
		ids = append(ids, r.ID)
		way[fileKey(r.ID, "")] = Step{"repository", r.Name, p.why}
	}
	return t.lookInto(ids)
}

// withCarried adds the first few of n items, which words chose, to the choices of a model. It
// takes more of them where the model chose none.
func withCarried(picks []pick, n, most, few int) []pick {
	if len(picks) == 0 {
		few = most
	}
	for i := range min(few, n) {
		if !slices.ContainsFunc(picks, func(p pick) bool { return p.at == i }) {
			picks = append(picks, pick{at: i, why: "by words"})
		}
	}
	return picks
}

// choosePackages chooses packages of the repositories that are looked into.
func (t *task) choosePackages(way map[string]Step) ([]summary.Package, error) {
	var all []summary.Package
	for i := range t.scope {
		list, ok := t.packages[t.scope[i].ID]
		if !ok {
			var err error
			if list, err = t.Book.Packages(t.ctx, t.scope[i].ID); err != nil {
				return nil, err
			}
		}
		all = append(all, list...)
	}
	all = slices.DeleteFunc(all, func(p summary.Package) bool { return !t.anyIn(p.Files) })
	sortBy(all, t.byWords().pkg, func(p *summary.Package) string { return fileKey(p.Repository, p.ImportPath) })
	if len(all) <= fewPackages {
		return all, nil
	}
	items := make([]item, len(all))
	for i, p := range all {
		items[i] = item{names: []string{p.ImportPath, p.Dir, path.Base(p.ImportPath)}, lines: []string{p.Text}}
	}
	picks, err := t.choose(query{kind: "levels: packages", ask: "Which of these packages is the report about: in which is its cause?",
		items: items, most: chosenPackages, tokens: packageTokens})
	var out []summary.Package
	for _, p := range withCarried(picks, len(items), chosenPackages, carried) {
		out = append(out, all[p.at])
		way[fileKey(all[p.at].Repository, all[p.at].ImportPath)] = Step{"package", all[p.at].ImportPath, p.why}
	}
	return out, err
}

// anyIn reports whether one of the files is in the pattern that was asked for.
func (t *task) anyIn(files []knowledge.File) bool { return slices.ContainsFunc(files, t.in) }

func (t *task) in(f knowledge.File) bool {
	return t.q.In == "" || knowledge.Within(path.Clean(filepath.ToSlash(t.q.In)), f.Path, f.ImportPath())
}

// chooseFiles orders the files of packages.
func (t *task) chooseFiles(kind string, packages []summary.Package, most, tokens int, way map[string]Step) ([]knowledge.File, error) {
	var all []knowledge.File
	for _, p := range packages {
		all = append(all, p.Files...)
	}
	all = slices.DeleteFunc(all, func(f knowledge.File) bool { return !t.in(f) })
	sortBy(all, t.byWords().file, func(f *knowledge.File) string { return fileKey(f.Repository, f.Path) })
	if len(all) == 0 {
		return nil, nil
	}
	read, err := t.Book.Files(t.ctx, all[:min(len(all), readFiles)])
	if err != nil {
		return nil, err
	}
	items := make([]item, len(all))
	for i := range all {
		place := t.place(all[i].Repository, all[i].Path)
		items[i] = item{names: []string{place, all[i].Path, path.Base(all[i].Path)}}
		if i < len(read) && read[i].Line != "" {
			items[i].rest = "  " + read[i].Line
		}
	}
	picks, err := t.choose(query{kind: kind, ask: "Which of these files is the report about: which would a fix of it change?", items: items, most: most, tokens: tokens})
	var out []knowledge.File
	for _, p := range withCarried(picks, len(items), most, carried) {
		out = append(out, all[p.at])
		way[fileKey(all[p.at].Repository, "file "+all[p.at].Path)] = Step{"file", all[p.at].Path, p.why}
	}
	return out, err
}

// candidatesIn are the candidates of words in files, the best first.
func (t *task) candidatesIn(files []knowledge.File) (out []knowledge.Decl) {
	in := map[int64]bool{}
	for _, f := range files {
		in[f.ID] = true
	}
	for _, d := range t.found.Candidates() {
		if in[d.File] {
			out = append(out, d)
		}
	}
	return out[:min(len(out), detailed+named)]
}

// wayTo keeps what was chosen on the way to functions.
func (t *task) wayTo(all []knowledge.Decl, way map[string]Step) {
	for _, d := range all {
		for _, key := range []string{"", d.Package, "file " + d.Path} {
			if s, ok := way[fileKey(d.Repository, key)]; ok {
				t.ways[d.ID] = append(t.ways[d.ID], s)
			}
		}
	}
}
