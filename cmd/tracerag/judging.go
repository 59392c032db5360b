package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tracerag/repair"
	"tracerag/repair/evidence"
	"tracerag/repair/job"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/visible"
)

// fixFlags are those of fix.
type fixFlags struct {
	test, candidate, show string
	apply, resume, json   bool
	limits                sandboxFlags
	done                  func() // ends the line that says what takes long
}

const fixSchema = "tracerag.fix/1"

// saidFix is what fix --json prints.
type saidFix struct {
	Schema  string         `json:"schema"`
	ID      string         `json:"id"`
	Report  string         `json:"report"`
	Test    repair.Test    `json:"test"`
	Places  []repair.Place `json:"places,omitempty"`
	Result  *repair.Result `json:"result,omitempty"`
	Verdict *trial.Verdict `json:"verdict,omitempty"` // of --candidate
	Diff    string         `json:"diff,omitempty"`
	Notes   []string       `json:"notes,omitempty"`

	root string // of the tree
}

// judged judges the change of --candidate and prints the verdict.
func (r *repairing) judged(ctx context.Context) (int, error) {
	data, err := r.readCandidate()
	if err != nil {
		return 0, err
	}
	v, said, p, err := r.try(ctx, data, r.before)
	r.stepped()
	if err != nil {
		return 0, err
	}
	if r.json {
		said.Verdict = &v
		err = r.printJSON(said)
	} else {
		_, err = fmt.Fprint(r.stdout, visible.Text(v.String()))
	}
	if err != nil {
		return 0, err
	}
	if !v.Accepted {
		return exitFailure, nil
	}
	return exitOK, r.applied(ctx, said.root, p)
}

// readCandidate reads the change of --candidate.
func (r *repairing) readCandidate() (data []byte, err error) {
	from := r.stdin
	if r.candidate != "-" {
		f, err := os.Open(r.absolute(r.candidate))
		if err != nil {
			return nil, fmt.Errorf("reading the change: %w", err)
		}
		defer f.Close()
		from = f
	}
	data, err = readGiven(from)
	if err != nil {
		return nil, fmt.Errorf("reading the change: %w", err)
	}
	r.masker().LearnText(string(data))
	return data, nil
}

// try judges a change: a diff, or files with whole declarations. before is called with the baseline.
func (r *repairing) try(ctx context.Context, data []byte, before func(*trial.Baseline)) (v trial.Verdict, said saidFix, p *patch.Patch, err error) {
	r.spec.Judged = true
	o, err := r.options()
	if err != nil {
		return v, said, nil, err
	}
	j, err := job.Open(ctx, o)
	if err != nil {
		return v, said, nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	// Before minutes of tests: is it a change at all?
	if p, err = patch.ReadChange(j.Root(), data); err != nil {
		return v, said, nil, err
	}
	b, err := j.Baseline(ctx)
	if err != nil {
		return v, said, nil, err
	}
	if before != nil {
		before(b)
	}
	if v, err = j.Judge(ctx, p); err != nil {
		return v, said, nil, err
	}
	return v, saidFix{Schema: fixSchema, ID: j.ID, Report: r.spec.Report, Diff: string(p.Diff()), root: j.Root()}, p, nil
}

// applied changes the user's files, if that was asked for.
func (r *repairing) applied(ctx context.Context, root string, p *patch.Patch) error {
	if !r.apply {
		return nil
	}
	kept, err := r.repairs()
	if err != nil {
		return err
	}
	if err := job.Apply(ctx, kept, root, p); err != nil {
		return fmt.Errorf("the files were not changed: %w", err)
	}
	for _, f := range p.Files {
		r.note("changed %s", visible.Line(filepath.FromSlash(f.Name)))
	}
	return nil
}

// evidenceText says what was found, for people.
func evidenceText(f *evidence.Found) string {
	var b strings.Builder
	for i, p := range f.Task.Places {
		name := p.Name
		if name == "" {
			name = "(new)"
		}
		fmt.Fprintf(&b, "\n%2d  %s  %s", i+1, visible.Line(name), visible.Line(p.File))
		if p.Plan != "" {
			fmt.Fprintf(&b, "\n      %s", visible.Line(p.Plan))
		}
	}
	return b.String()
}
