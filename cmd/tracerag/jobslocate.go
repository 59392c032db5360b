package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/visible"
)

// mostLines is how many reports, or changes, are asked about at once.
const mostLines = 10_000

// locateReports has workers find the places of the reports in a file, or on standard input.
func (a *app) locateReports(ctx context.Context, q *jobs.Queue, file string, p jobs.Priority) error {
	list, err := readLines(a, file, func(x *jobs.Asking) error {
		if x.ID == "" || strings.TrimSpace(x.Report) == "" {
			return errors.New(`want {"id": "...", "report": "..."}`)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range list {
		a.masker().LearnText(list[i].Report)
	}
	for i := range list { // what others can read has no secrets
		list[i].Report, list[i].ID = a.masker().Clean(list[i].Report), a.masker().Clean(list[i].ID)
	}
	added, err := q.Locate(ctx, list, p)
	if err != nil {
		return err
	}
	a.note("%s to locate, %d of them waited already: tracerag jobs answers", phrase.Plural(len(list), "report", "reports"), len(list)-added)
	return a.missingWorker(ctx, q, jobs.Locate, "locates")
}

// missingWorker says so if no worker works on a kind of jobs.
func (a *app) missingWorker(ctx context.Context, q *jobs.Queue, kind jobs.Kind, does string) error {
	workers, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if strings.Contains(","+w.Kinds+",", ","+string(kind)+",") {
			return nil
		}
	}
	a.note("no worker is there that %s: tracerag worker --jobs %s", does, kind)
	return nil
}

func (a *app) readAsked(file string) ([]byte, error) {
	if file == "-" {
		return readGiven(a.stdin)
	}
	f, err := os.Open(a.absolute(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readGiven(f)
}

// readLines reads what is asked from the lines of a file, or of standard input: JSON of a T in each, which passes a check.
func readLines[T any](a *app, file string, check func(*T) error) (list []T, err error) {
	data, err := a.readAsked(file)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var x T
		err := json.Unmarshal(line, &x)
		if err == nil {
			err = check(&x)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, n, err)
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: it has no lines", file)
	}
	if len(list) > mostLines {
		return nil, fmt.Errorf("%s: it has %d lines: at most %d at a time", file, len(list), mostLines)
	}
	return list, nil
}

// printAnswers prints what workers found.
func (a *app) printAnswers(ctx context.Context, q *jobs.Queue, ids []string, asJSON bool) error {
	list, err := q.Answers(ctx, ids)
	if err != nil {
		return err
	}
	tried, err := q.Tried(ctx, ids)
	if err != nil {
		return err
	}
	if asJSON {
		all := []any{}
		for _, x := range list {
			all = append(all, x)
		}
		for _, x := range tried {
			all = append(all, x)
		}
		return a.printJSON(all)
	}
	if len(list)+len(tried) == 0 {
		a.note("no such report was asked about, and no such change tried: tracerag jobs locate FILE and jobs try FILE ask")
		return nil
	}
	w := bufio.NewWriter(a.stdout)
	for i, x := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		title, _, _ := strings.Cut(strings.TrimSpace(x.Report), "\n")
		fmt.Fprintf(w, "%s  %s\n", visible.Line(x.ID), visible.Line(phrase.Cut(title, 80)))
		if err := writeAnswer(w, &x); err != nil {
			return err
		}
	}
	for i, x := range tried {
		if i > 0 || len(list) > 0 {
			fmt.Fprintln(w)
		}
		writeTried(w, &x, len(ids) > 0)
	}
	return w.Flush()
}

// writeAnswer writes the functions of an answer, a line each.
func writeAnswer(w io.Writer, x *jobs.Answered) error {
	var found locate.Answer
	switch {
	case x.Problem != "":
		_, err := fmt.Fprintf(w, "     not located: %s\n", visible.Line(x.Problem))
		return err
	case x.Made == nil:
		_, err := fmt.Fprintln(w, "     not located yet")
		return err
	case json.Unmarshal(x.Answer, &found) != nil:
		_, err := fmt.Fprintln(w, "     the answer can't be read")
		return err
	case len(found.Functions) == 0:
		_, err := fmt.Fprintln(w, "     nothing matches the report")
		return err
	}
	for i, f := range found.Functions {
		if _, err := fmt.Fprintf(w, "%3d  %.2f  %s  %s: %s:%d\n", i+1, f.Score, visible.Line(f.Name), visible.Line(f.Repository), visible.Line(f.File), f.Line); err != nil {
			return err
		}
	}
	return nil
}

// workerLocator is how a worker locates: by words, without a model.
func (a *app) workerLocator(ctx context.Context, s knowledge.Store, q locate.Question) (json.RawMessage, error) {
	secrets := session.NewMasker(a.newRedactor)
	secrets.LearnText(q.Text)
	g := &guided.Guide{Store: s, Options: locate.Options{Limit: 10}, Search: guided.DefaultSearch, Secrets: secrets}
	found, err := g.Locate(ctx, q, guided.Words)
	if err != nil {
		return nil, err
	}
	secrets.Located(found.Answer)
	text, err := json.Marshal(found.Answer)
	if err != nil {
		return nil, err
	}
	clean := json.RawMessage(secrets.Clean(string(text)))
	if !json.Valid(clean) {
		return nil, errors.New("the answer without secrets can't be kept")
	}
	return clean, nil
}
