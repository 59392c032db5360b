// Callbacks has the standard library call it back, in all the ways in which a
// recorder that does not see the library could take the wrong function for the
// caller: through one call instruction that calls now this function and now that,
// from frames that lie where others lay before, with functions in between that
// have returned.
package main

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"text/template"
	"time"
)

func main() {
	for i := range 20 {
		mapped(i)
		sorted(i)
		templates(i)
		encoded(i)
		indirect(i)
		walked()
		once()
		piped()
	}
	goroutines()
	served()
	fmt.Println(total)
}

var total int

//go:noinline
func add(n int) { total += n }

//go:noinline
func upper(r rune) rune {
	add(1)
	if r == 'a' {
		return 'A'
	}
	return r
}

//go:noinline
func vowel(r rune) bool { add(2); return strings.ContainsRune("aeiou", r) }

// mapped calls the library several times from functions with frames of the same
// size, with callbacks and without.
//
//go:noinline
func mapped(i int) {
	s := strings.Repeat("banana", i%3+1)
	s = strings.Map(upper, s)
	s = strings.TrimFunc(s, vowel)
	strings.Fields(s)
	strings.FieldsFunc(s, vowel)
	strings.IndexFunc(s, vowel)
	bytes.Map(upper, []byte(s))
	regexp.MustCompile(`a+`).ReplaceAllStringFunc(s, replaced)
}

//go:noinline
func replaced(s string) string { add(3); return s + s }

type byLength []string

func (b byLength) Len() int           { add(1); return len(b) }
func (b byLength) Less(i, j int) bool { add(1); return shorter(b[i], b[j]) }
func (b byLength) Swap(i, j int)      { add(1); b[i], b[j] = b[j], b[i] }
func (b *byLength) Push(x any)        { *b = append(*b, x.(string)) }
func (b *byLength) Pop() any          { x := (*b)[len(*b)-1]; *b = (*b)[:len(*b)-1]; return x }

//go:noinline
func shorter(a, b string) bool { add(1); return len(a) < len(b) }

//go:noinline
func compare(a, b string) int { add(1); return cmp.Compare(a, b) }

//go:noinline
func sorted(i int) {
	words := strings.Fields(strings.Repeat("the quick brown fox jumps over the lazy dog again ", i%4+1))
	sort.Sort(byLength(words))
	sort.Slice(words, func(i, j int) bool { add(1); return shorter(words[j], words[i]) })
	slices.SortFunc(words, compare)
	slices.SortStableFunc(words, func(a, b string) int { return -compare(a, b) })
	sort.Search(len(words), func(i int) bool { add(1); return shorter("fox", words[i]) })
	h := byLength(words[:4])
	heap.Init(&h)
	heap.Push(&h, "end")
	heap.Pop(&h)
	slices.IndexFunc(words, func(s string) bool { return shorter(s, "the") })
}

type page struct {
	Name  string
	Items []item
}

type item struct{ n int }

func (p page) Title() string      { add(1); return title(p.Name) }
func (i item) String() string     { add(1); return number(i.n) }
func (i item) Double() int        { add(1); return i.n * 2 }
func (i *item) Format() string    { add(1); return number(i.n) }
func (p page) Each() []item       { add(1); return p.Items }
func (p page) Fail() (int, error) { add(1); return 0, failed() }

//go:noinline
func title(s string) string { add(1); return strings.ToUpper(s) }

//go:noinline
func number(n int) string { add(1); return fmt.Sprint("#", n) }

//go:noinline
func failed() error { add(1); return errors.New("failed") }

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{"title": title, "number": number}).Parse(
	`{{.Title}} {{title "x"}} {{range .Each}}{{.}} {{.Double}} {{number .Double}} {{len (printf "%s" .)}} {{end}}{{.Title}}`))

//go:noinline
func templates(i int) {
	p := page{Name: "name", Items: []item{{1}, {i}, {3}}}
	if err := tmpl.Execute(io.Discard, p); err != nil {
		panic(err)
	}
	if err := template.Must(template.New("").Parse(`{{.Fail}}`)).Execute(io.Discard, p); err == nil {
		panic("no error")
	}
	fmt.Fprintf(io.Discard, "%v %s %d %v", p.Items[0], item{2}, 3, errorOf(4))
	w := tabwriter.NewWriter(writer{}, 0, 8, 1, ' ', 0)
	fmt.Fprintf(w, "a\tb\t%v\n", item{5})
	w.Flush()
}

type errorOf int

func (e errorOf) Error() string { add(1); return number(int(e)) }

type writer struct{}

func (writer) Write(p []byte) (int, error) { add(len(p)); return len(p), nil }

func (i item) MarshalText() ([]byte, error) { add(1); return []byte(number(i.n)), nil }

type amount struct{ n int }

func (a amount) MarshalJSON() ([]byte, error) { add(1); return []byte(fmt.Sprint(a.n)), nil }
func (a *amount) UnmarshalJSON(b []byte) error {
	add(1)
	_, err := fmt.Sscan(string(b), &a.n)
	return err
}

//go:noinline
func encoded(i int) {
	data, err := json.Marshal(map[string]any{"a": amount{i}, "b": []item{{1}, {2}}, "c": []amount{{3}, {4}}, "d": "text"})
	if err != nil {
		panic(err)
	}
	var back struct {
		A amount
		C []amount
	}
	if err := json.Unmarshal(data, &back); err != nil {
		panic(err)
	}
}

type shape interface{ area() int }

type square struct{ n int }

func (s square) area() int { add(1); return side(s.n) }

//go:noinline
func side(n int) int { add(1); return n }

// indirect calls functions of its own and of the library from one instruction:
// strings.Map calls back, and has its frame where a function of ours had it.
//
//go:noinline
func indirect(i int) {
	functions := []func(func(rune) rune, string) string{ours, strings.Map, ours, strings.Map, other}
	for _, f := range functions {
		f(upper, "abc")
	}
	for range 2 {
		for _, f := range []func(string, func(rune) bool) string{strings.TrimLeftFunc, trimmed, strings.TrimFunc, strings.TrimRightFunc} {
			f("ebay", vowel)
		}
	}
	for _, w := range []io.Writer{writer{}, &bytes.Buffer{}, io.MultiWriter(writer{}, writer{}), writer{}, io.MultiWriter(io.Discard, writer{})} {
		w.Write([]byte("four"))
	}
	for _, s := range []fmt.Stringer{item{1}, time.Duration(3), item{2}, &strings.Builder{}} {
		_ = s.String()
	}
	for _, s := range []shape{square{i}, square{2}} {
		s.area()
	}
}

//go:noinline
func ours(f func(rune) rune, s string) string { add(1); return s }

//go:noinline
func other(f func(rune) rune, s string) string { add(1); return string(f('a')) + s }

//go:noinline
func trimmed(s string, f func(rune) bool) string { add(1); return s[1:] }

//go:noinline
func walked() {
	dir, err := os.MkdirTemp("", "callbacks")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			panic(err)
		}
	}
	if err := filepath.WalkDir(dir, visit); err != nil {
		panic(err)
	}
}

//go:noinline
func visit(path string, d fs.DirEntry, err error) error { add(1); return err }

//go:noinline
func once() {
	var o sync.Once
	o.Do(initialised)
	o.Do(initialised)
	v := sync.OnceValue(value)
	add(v() + v())
	p := sync.Pool{New: made}
	p.Put(p.Get())
}

//go:noinline
func initialised() { add(1) }

//go:noinline
func value() int { add(1); return 1 }

//go:noinline
func made() any { add(1); return 1 }

//go:noinline
func piped() {
	defer func() { add(len(fmt.Sprint(recover()))) }()
	io.Copy(writer{}, io.TeeReader(strings.NewReader("some text"), writer{}))
	slices.SortFunc([]int{3, 1, 2}, func(a, b int) int {
		add(1)
		if a == 2 {
			panic(errorOf(2))
		}
		return a - b
	})
}

func goroutines() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			mapped(2)
			sorted(3)
		})
	}
	wg.Wait()
	done := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { add(1); close(done) })
	<-done
}

// served is a web server and its client, with handlers in layers.
func served() {
	mux := http.NewServeMux()
	mux.HandleFunc("/work", work)
	mux.Handle("/fail", http.StripPrefix("/", layer{failing{}}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &http.Server{Handler: layer{http.TimeoutHandler(mux, time.Minute, "")}}
	go server.Serve(l)
	client := http.Client{Transport: transport{http.DefaultTransport}}
	for i := range 20 {
		r, err := client.Get("http://" + l.Addr().String() + []string{"/work", "/fail", "/none"}[i%3])
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	server.Close()
}

var mu sync.Mutex

//go:noinline
func work(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	add(1)
	encoded(3)
	fmt.Fprint(w, item{1})
}

type failing struct{}

func (failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() { add(1); _ = recover(); http.Error(w, failed().Error(), 500) }()
	panic(failed())
}

// layer is a type of our own, and not a http.HandlerFunc: with functions of the
// library that call each other the other way round, too, the tree would be folded.
type layer struct{ next http.Handler }

func (l layer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	add(1)
	mu.Unlock()
	l.next.ServeHTTP(w, r)
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	mu.Lock()
	add(1)
	mu.Unlock()
	return t.next.RoundTrip(r)
}
