package rows

import (
	"maps"
	"slices"

	"tracerag/code/words"
	"tracerag/knowledge"
)

// Subjects is where the terms of commits are.
type Subjects struct {
	// Counted are the repositories (id, subjects): how many commits are counted, or less than 0.
	Counted func() Query
	// With are the counts of terms (repository, term, commits).
	With func(terms []string) Query
	// Of are the subjects of repositories' commits (repository, subject).
	Of func(repositories []int64) Query
}

// Vocabularies is of [knowledge.Reader].
func Vocabularies(from *Source, subjects *Subjects, terms []string, repositories []int64) ([]knowledge.Vocabulary, error) {
	list := make([]knowledge.Vocabulary, len(repositories))
	at := make(map[int64]*knowledge.Vocabulary, len(list))
	for i, r := range repositories {
		list[i] = knowledge.Vocabulary{InFunctions: make([]int, len(terms)), InCommits: make([]int, len(terms))}
		at[r] = &list[i]
	}
	chunks, err := from.chunks(Scope{repositories, ProductFunctions, ProductFunctions + 1}, terms)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		v := at[c.ID>>(repositoryShift-ChunkShift)]
		if v == nil {
			continue
		}
		units, _ := c.size()
		v.Functions += units
		for t := range c.Rows {
			if err := c.each(t, func(uint16, uint32, uint16, *Counts) { v.InFunctions[t]++ }); err != nil {
				return nil, err
			}
		}
	}
	return list, subjects.count(at, terms)
}

// count fills in the commits.
func (s *Subjects) count(at map[int64]*knowledge.Vocabulary, terms []string) error {
	number := map[string][]int{} // a term may be asked for twice
	for i, t := range terms {
		number[Key(t)] = append(number[Key(t)], i)
	}
	var uncounted []int64
	if err := s.Counted().Each(func(scan Scan) error {
		var repository, commits int64
		err := scan(&repository, &commits)
		if v := at[repository]; v != nil && commits < 0 {
			uncounted = append(uncounted, repository)
		} else if v != nil {
			v.Commits = int(commits)
		}
		return err
	}); err != nil {
		return err
	}
	if err := s.With(slices.Collect(maps.Keys(number))).Each(func(scan Scan) error {
		var repository int64
		var term string
		var commits int
		err := scan(&repository, &term, &commits)
		if v := at[repository]; v != nil {
			for _, i := range number[term] {
				v.InCommits[i] = commits
			}
		}
		return err
	}); err != nil {
		return err
	}
	if len(uncounted) == 0 {
		return nil
	}
	return s.Of(uncounted).Each(func(scan Scan) error {
		var repository int64
		var subject string
		err := scan(&repository, &subject)
		if v := at[repository]; v != nil {
			v.Commits++
			for _, t := range termsOnce(subject) {
				for _, i := range number[t] {
					v.InCommits[i]++
				}
			}
		}
		return err
	})
}

func termsOnce(text string) []string {
	terms := slices.Clone(keys(words.Terms(text)))
	slices.Sort(terms)
	return slices.Compact(terms)
}

// SubjectChange is what becomes of a repository's rows of table subject.
type SubjectChange struct {
	Gone    []string // terms
	Terms   []string // that are new, or in more or fewer commits
	Counts  []int64  // of these
	Commits int
}

// SubjectChanges compares the commits of a repository (repository, subject) with its rows (term, commits).
func SubjectChanges(subjects, stored Query) (c SubjectChange, err error) {
	with := map[string]int{}
	if err := subjects.Each(func(scan Scan) error {
		var repository int64
		var subject string
		err := scan(&repository, &subject)
		c.Commits++
		for _, t := range termsOnce(subject) {
			with[t]++
		}
		return err
	}); err != nil {
		return c, err
	}
	if err := stored.Each(func(scan Scan) error {
		var term string
		var n int
		err := scan(&term, &n)
		switch now, there := with[term]; {
		case !there:
			c.Gone = append(c.Gone, term)
		case now == n:
			delete(with, term)
		}
		return err
	}); err != nil {
		return c, err
	}
	for _, t := range slices.Sorted(maps.Keys(with)) {
		c.Terms, c.Counts = append(c.Terms, t), append(c.Counts, int64(with[t]))
	}
	return c, nil
}
