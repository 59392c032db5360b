//go:build linux && amd64

// Deep has the standard library recurse as deep as its argument says, and call a
// function of its own at each level, from several places: a call has thousands of
// frames between it and its caller, and nearly the same ones at the next call.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"text/template"
)

// next is called by templates.
//
//go:noinline
func next(n int) int { return n - 1 }

// half is called by templates, too, and makes a call itself.
//
//go:noinline
func half(n int) int { return next(n) / 2 }

var levels = template.Must(template.New("").Funcs(template.FuncMap{"next": next, "half": half}).Parse(
	`{{define "level"}}{{if .}}{{template "level" next .}}{{end}}{{end}}` +
		`{{define "twice"}}{{if gt . 0}}{{template "twice" half .}}{{template "twice" half .}}{{end}}{{end}}` +
		`{{define "both"}}{{if gt . 0}}{{template "level" 3}}{{template "both" next .}}{{template "twice" 5}}{{end}}{{end}}`))

//go:noinline
func render(name string, n int) error { return levels.ExecuteTemplate(io.Discard, name, n) }

// again renders from another place, with its own frame between.
//
//go:noinline
func again(n int) error {
	var room [64]int
	room[n%64] = n
	if err := render("both", n/4); err != nil {
		return err
	}
	return levels.ExecuteTemplate(io.Discard, "level", room[n%64])
}

// value is one of nested JSON values, each of which has some that unmarshal themselves.
type value struct {
	Leaf  leaf
	Below *value
	After leaf
}

type leaf int

func (l *leaf) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(b))
	*l = leaf(n)
	return err
}

//go:noinline
func unmarshal(n int) (depth int, err error) {
	var v value
	err = json.Unmarshal([]byte(strings.Repeat(`{"Leaf":1,"Below":`, n)+"null"+strings.Repeat(`,"After":2}`, n)), &v)
	for p := &v; p != nil; p = p.Below {
		depth++
	}
	return depth, err
}

// items are sorted, by functions of the library that call themselves.
type items []int

func (s items) Len() int           { return len(s) }
func (s items) Less(i, j int) bool { return s[i] < s[j] }
func (s items) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// fails has a call many levels down fail, at which the library panics and recovers.
//
//go:noinline
func fails(n int) bool {
	t := template.Must(levels.Clone()).Funcs(template.FuncMap{"next": func(k int) (int, error) {
		if k == n/2 {
			return 0, io.ErrUnexpectedEOF
		}
		return next(k), nil
	}})
	return errors.Is(t.ExecuteTemplate(io.Discard, "level", n), io.ErrUnexpectedEOF)
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err == nil && len(os.Args) > 2 { // only the simplest
		if err = render("level", n); err == nil {
			return
		}
	}
	if err == nil {
		err = render("level", n)
	}
	if err == nil {
		err = again(n)
	}
	if err == nil {
		err = render("level", n)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(unmarshal(min(n, 3000)))
	s := make(items, n)
	for i := range s {
		s[i] = i * 7919 % n
	}
	sort.Sort(s)
	fmt.Println(sort.IsSorted(s), reflect.DeepEqual(s[0], 0))
	fmt.Println(fails(n), render("level", n/2))
}
