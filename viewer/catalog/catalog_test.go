package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/viewer/catalog"
	"tracerag/viewer/guard"
)

// good are the page's own requests.
var good = []request{
	{path: "/api/overview"},
	{path: "/api/repository", body: `{"repository":"draw"}`},
	{path: "/api/file", body: `{"repository":"draw","path":"table/table.go"}`},
	{path: "/api/search", body: `{"text":"border"}`},
	{path: "/api/locate", body: `{"text":"the border is cut"}`},
	{path: "/api/unit", body: `{"repository":"draw","path":"table/table.go","symbol":"border"}`},
	{path: "/api/values", body: `{"repository":"draw","path":"table/table.go","symbol":"border","trace":"0a1b2c3d"}`},
}

// guests are those of a team: one token is good, one was revoked, and of one nobody can tell.
func guests(_ context.Context, token string) (string, error) {
	switch token {
	case "good":
		return "ada", nil
	case "revoked":
		return "", guard.ErrRevoked
	case "down":
		return "", errors.New("db.example.com can't be reached")
	}
	return "", guard.ErrUnknown
}

// TestRefusals: requests without a good token, to other hosts and by pages of other origins get no data, and have nothing noted.
func TestRefusals(t *testing.T) {
	f := newFixture(t)
	var mu sync.Mutex
	var noted []string
	f.content.Asked = func(_ context.Context, q catalog.Question) error {
		mu.Lock()
		defer mu.Unlock()
		noted = append(noted, fmt.Sprint(q.Who, " ", q.What, " ", q.Text))
		return nil
	}
	base, own := serve(t, f.content, guests)
	port := base[strings.LastIndexByte(base, ':')+1:]
	for name, fault := range map[string]struct {
		want   int
		host   string
		header map[string]string
	}{
		"no token":            {401, "", map[string]string{"Authorization": "-"}},
		"an empty token":      {401, "", map[string]string{"Authorization": "Bearer "}},
		"another token":       {401, "", map[string]string{"Authorization": "Bearer other"}},
		"a revoked token":     {401, "", map[string]string{"Authorization": "Bearer revoked"}},
		"a token as a cookie": {401, "", map[string]string{"Authorization": "-", "Cookie": "token=good"}},
		"no database":         {503, "", map[string]string{"Authorization": "Bearer down"}},
		"another origin":      {403, "", map[string]string{"Origin": "https://evil.example"}},
		"another port":        {403, "", map[string]string{"Origin": "http://127.0.0.1:1"}},
		"a file":              {403, "", map[string]string{"Origin": "null"}},
		"another site":        {403, "", map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a link":              {403, "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}},
		"a rebound name":      {421, "evil.example:" + port, nil},
		"a bare name":         {421, "evil.example", nil},
	} {
		for _, r := range good {
			r.host, r.header = fault.host, fault.header
			status, header, body := r.send(t, base, "good")
			if status != fault.want {
				t.Errorf("%s with %s: status %d, want %d", r.path, name, status, fault.want)
			}
			if strings.Contains(body, "border") || strings.Contains(body, "draw") || strings.Contains(body, "db.example") {
				t.Errorf("%s with %s gives data: %s", r.path, name, body)
			}
			if header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %s: headers %v", r.path, name, header)
			}
		}
	}
	if len(noted) > 0 {
		t.Errorf("noted is %q", noted)
	}
	for _, token := range []string{own, "good"} {
		for _, r := range good {
			if status, _, body := r.send(t, base, token); status != 200 || !strings.Contains(body, "draw") && !strings.Contains(body, "72") {
				t.Errorf("the page's own %s: status %d, %.200s", r.path, status, body)
			}
		}
	}
	want := []string{"repository draw", "file draw: table/table.go", "search border", "locate the border is cut", "function draw: table/table.go: border", "values draw: table/table.go: border in trace 0a1b2c3d"}
	for i, who := range []string{"me", "ada"} {
		for k, what := range want {
			if at := i*len(want) + k; at >= len(noted) || noted[at] != who+" "+what {
				t.Fatalf("noted is %q", noted)
			}
		}
	}
	// What can't be noted is not answered.
	f.content.Asked = func(context.Context, catalog.Question) error { return errors.New("db.example.com can't be reached") }
	base, _ = serve(t, f.content, guests)
	for _, r := range good[1:] {
		if status, _, body := r.send(t, base, "good"); status != 503 || strings.Contains(body, "border") || strings.Contains(body, "db.example") {
			t.Errorf("%s that is not noted: status %d, %s", r.path, status, body)
		}
	}
}

// TestOnlyReads: no request changes anything, whoever asks, and asking leaves the store as it was.
func TestOnlyReads(t *testing.T) {
	f := newFixture(t)
	base, own := serve(t, f.content, guests)
	before := dump(t, f.store)
	if err := os.WriteFile(filepath.Join(f.dir, "table", "new.go"), []byte("package table\n\nfunc border2() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{own, "good"} {
		for _, tt := range []struct {
			request
			want int
		}{
			{request{path: "/api/index", body: "{}"}, 403},
			{request{path: "/api/refresh", body: "{}"}, 403},
			{request{path: "/api/refresh"}, 403},
			{request{method: "PUT", path: "/api/refresh", body: "{}"}, 403},
			{request{method: "PUT", path: "/api/unit", body: "{}"}, 405},
			{request{method: "DELETE", path: "/api/repository", body: `{"repository":"draw"}`}, 405},
			{request{method: "POST", path: "/api/overview", body: "{}"}, 405},
			{request{path: "/api/search?text=border"}, 405},
			{request{path: "/api/forget", body: `{"repository":"draw"}`}, 404},
		} {
			if status, _, body := tt.send(t, base, token); status != tt.want {
				t.Errorf("%s %s: status %d, want %d: %s", tt.method, tt.path, status, tt.want, body)
			}
		}
		for _, r := range good {
			if status, _, body := r.send(t, base, token); status != 200 {
				t.Errorf("%s: status %d, %s", r.path, status, body)
			}
		}
	}
	if after := dump(t, f.store); after != before {
		t.Error("the store was changed")
	}
}

func dump(t *testing.T, s knowledge.Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// entry is a declaration in an answer.
type entry struct {
	Repository, Path, Symbol, Title, Kind, How, Summary string
	Line                                                int
	Lines                                               []int
}

func titles(list []entry) string {
	var out []string
	for _, e := range list {
		text := e.Title
		if e.How != "" {
			text += " (" + e.How + ")"
		}
		if e.Lines != nil {
			text += fmt.Sprint(e.Lines)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// TestAnswers asks all that the page asks, of a store that may only be read.
func TestAnswers(t *testing.T) {
	f := newFixture(t)
	base, own := serve(t, f.content, nil)
	ask := func(path, body string, want int, to any) {
		t.Helper()
		status, _, text := request{path: "/api/" + path, body: body}.send(t, base, own)
		if status != want {
			t.Fatalf("%s %s: status %d, want %d: %s", path, body, status, want, text)
		}
		if strings.Contains(text, "hunter2") || strings.Contains(text, "\u202e") || want == 200 && strings.Contains(text, "<img") {
			t.Errorf("%s %s gives away a secret, a control character or markup: %s", path, body, text)
		}
		if want == 200 {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	var o struct {
		Name         string
		Repositories []struct {
			Name, Place, Snapshot, State string
			Counts                       struct{ Functions int }
		}
	}
	ask("overview", "", 200, &o)
	if len(o.Repositories) != 1 || o.Repositories[0].Name != "draw" || o.Repositories[0].State != "unknown" || o.Repositories[0].Counts.Functions != 7 || o.Name != "knowledge.db" {
		t.Errorf("overview %+v", o)
	}
	var r struct {
		Counts   struct{ Files, Functions, Calls int }
		Packages []struct {
			Package string
			Paths   []string
		}
	}
	ask("repository", `{"repository":"draw"}`, 200, &r)
	if r.Counts.Files != 3 || r.Counts.Functions != 7 || r.Counts.Calls != 4 || len(r.Packages) != 2 || !slices.Equal(r.Packages[1].Paths, []string{"table/table.go"}) {
		t.Errorf("repository %+v", r)
	}
	hostile := r.Packages[0].Paths[0] // as the answer has it
	var file struct {
		Declares []entry
		Line     string
	}
	ask("file", `{"repository":"draw","path":"table/table.go"}`, 200, &file)
	if got := titles(file.Declares); got != "table.Table, table.(*Table).Row, table.border, table.init, table.init#2" || file.Declares[2].Summary != "border draws what is around a row." {
		t.Errorf("a file declares %s: %+v", got, file)
	}
	asked, _ := json.Marshal(map[string]string{"repository": "draw", "path": hostile})
	ask("file", string(asked), 200, &file)
	if got := titles(file.Declares); got != "draw.frame" {
		t.Errorf("a hostile file declares %s", got)
	}

	var found struct{ Named, Words []entry }
	for query, want := range map[string]string{
		`{"text":"border"}`:                       "table.border | table.(*Table).Row, table.init#2",
		`{"text":"(*Table).Row"}`:                 "table.(*Table).Row | table.Table, table.border, table.init, table.init#2",
		`{"text":"table.go","repository":"draw"}`: "table.Table, table.(*Table).Row, table.border, table.init, table.init#2 | ",
		`{"text":"draws around"}`:                 " | table.border, table.(*Table).Row, table.init, draw.frame, table.init#2, table.Table",
		`{"text":"nothing such"}`:                 " | ",
	} {
		found.Named, found.Words = nil, nil
		ask("search", query, 200, &found)
		if got := titles(found.Named) + " | " + titles(found.Words); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	var u struct {
		entry
		Place, Note             string
		Start                   int
		Source                  [][]string
		Callers, Callees, Tests []entry
		Executed                []struct {
			Trace, What, Package string
			Passed               bool
			Calls                int
		}
	}
	ask("unit", `{"repository":"draw","path":"table/table.go","symbol":"border"}`, 200, &u)
	if got := titles(u.Callers); got != "table.(*Table).Row (static, ran x1)[9], draw.frame (interface), table.TestOther (static)[7]" {
		t.Errorf("callers %s", got)
	}
	if got := titles(u.Tests); got != "table.TestOther (calls it)" {
		t.Errorf("tests %s", got)
	}
	if u.Start != 12 || len(u.Source) != 2 || u.Summary != "border draws what is around a row." || u.Kind != "func" {
		t.Errorf("unit %+v", u)
	}
	if len(u.Executed) != 1 || u.Executed[0].What != "TestRow" || u.Executed[0].Trace != "0a1b2c3d" || u.Executed[0].Calls != 1 {
		t.Errorf("executed by %+v", u.Executed)
	}
	var v struct {
		Calls []struct{ Args, Results []struct{ Name, Text string } }
	}
	ask("values", `{"repository":"draw","path":"table/table.go","symbol":"border","trace":"0a1b2c3d"}`, 200, &v)
	if len(v.Calls) != 1 || v.Calls[0].Args[0].Text != "72" || v.Calls[0].Results[0].Text != `"<b>+--+</b>"` {
		t.Errorf("values %+v", v)
	}
	ask("values", `{"repository":"draw","path":"table/table.go","symbol":"(*Table).Row","trace":"0a1b2c3d"}`, 200, &v)
	if len(v.Calls) != 0 {
		t.Errorf("values of another function: %+v", v)
	}
	asked, _ = json.Marshal(map[string]string{"repository": "draw", "path": hostile, "symbol": "frame"})
	u.Source = nil
	ask("unit", string(asked), 200, &u)
	if text := fmt.Sprint(u.Source); !strings.Contains(text, "REDACTED") || !strings.Contains(text, "onerror") {
		t.Errorf("a secret is shown as %s", text)
	}
	ask("unit", `{"repository":"draw","path":"table/table.go","symbol":"init#2"}`, 200, &u)
	if u.Line != 17 {
		t.Errorf("the second init is at %d", u.Line)
	}

	var l struct {
		Functions []struct {
			Path, Symbol, Why string
			Line              int
		}
		Runs   []string
		Record struct{ Line string }
	}
	ask("locate", `{"text":"the border around a row is cut"}`, 200, &l)
	if len(l.Functions) == 0 || l.Functions[0].Symbol != "border" || !strings.Contains(l.Functions[0].Why, "border") || len(l.Runs) != 1 || !strings.Contains(l.Runs[0], "TestRow (passed)") {
		t.Errorf("located %+v", l)
	}

	// Of two functions of a name in a file it leads to the one that is meant.
	for _, fn := range l.Functions {
		if fn.Line == 17 && fn.Symbol != "init#2" {
			t.Errorf("the second init is called %s", fn.Symbol)
		}
	}
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{"repository", `{"repository":"none"}`, 404},
		{"file", `{"repository":"draw","path":"../../etc/passwd"}`, 404},
		{"file", `{"repository":"draw","path":"border"}`, 404},
		{"unit", `{"repository":"draw","path":"table/table.go","symbol":"none"}`, 404},
		{"unit", `{"repository":"draw","path":"other.go","symbol":"border"}`, 404},
		{"unit", `{}`, 404},
		{"values", `{"repository":"draw","path":"table/table.go","symbol":"border","trace":"../../x"}`, 404},
		{"search", `{"text":"border","repository":"none"}`, 404},
		{"search", `{"text":" "}`, 422},
		{"search", `{"text":"` + strings.Repeat("a", 2<<10) + `"}`, 413},
		{"locate", `{"text":""}`, 422},
		{"locate", `{"text":"` + strings.Repeat("a ", 40<<10) + `"}`, 413},
		{"locate", `{"text":"` + strings.Repeat("a", 2<<20) + `"}`, 400},
		{"locate", `{"text":`, 400},
		{"locate", `{"other":1}`, 400},
	} {
		ask(tt.path, tt.body, tt.want, nil)
	}

	// A file that changed is not shown as another one than was indexed.
	if err := os.WriteFile(filepath.Join(f.dir, "table", "table.go"), []byte("package table\n\n\n\nfunc border(n int) string { return \"new\" }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.Source = nil
	ask("unit", `{"repository":"draw","path":"table/table.go","symbol":"border"}`, 200, &u)
	if u.Source != nil || !strings.Contains(u.Note, "changed since it was indexed") {
		t.Errorf("a changed file is shown as %+v, %q", u.Source, u.Note)
	}
}

// TestStates: what is known of newer states is said, and a repository that changes is counted again.
func TestStates(t *testing.T) {
	f := newFixture(t)
	checked := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	watched := map[string]catalog.Watched{}
	f.content.Watched = func(context.Context, []knowledge.Repository) map[string]catalog.Watched { return watched }
	base, own := serve(t, f.content, nil)
	look := func(want string) {
		t.Helper()
		for _, r := range []request{{path: "/api/overview"}, {path: "/api/repository", body: `{"repository":"draw"}`}} {
			if status, _, body := r.send(t, base, own); status != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: status %d, %s; want %s", r.path, status, body, want)
			}
		}
	}
	look(`"state":"unknown"`)
	watched["draw"] = catalog.Watched{}
	look(`"state":"fresh"`)
	watched["draw"] = catalog.Watched{Stale: "2 files changed", Checked: &checked}
	look(`"state":"stale","state_note":"2 files changed","checked":"2026-11-24T12:00:00Z"`)
	look(`"functions":7`)
	if err := os.WriteFile(filepath.Join(f.dir, "more.go"), []byte("package draw\n\nfunc more() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Update(t.Context(), f.store, f.dir, index.Options{Calls: made}); err != nil {
		t.Fatal(err)
	}
	look(`"functions":8`)
	watched["draw"] = catalog.Watched{}
	if _, _, err := f.store.Begin(t.Context(), knowledge.Repository{Name: "draw", Root: f.dir}); err != nil {
		t.Fatal(err)
	}
	look(`"state":"stale","state_note":"an update is going on, or was interrupted"`)
}

// said is a store in which models have said something of all declarations, two most.
type said struct{ knowledge.Store }

func (said) SummaryModels(context.Context) ([]string, error) { return []string{"two", "one"}, nil }

func (said) Summaries(_ context.Context, model string, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	out := map[knowledge.SummaryKey]knowledge.Summary{}
	for _, k := range keys {
		if model == "one" || model == "two" {
			out[k] = knowledge.Summary{SummaryKey: k, Text: model + " says it with " + aSecret()}
		}
	}
	return out, nil
}

// TestSummaries: a function is said to do what the model with the most summaries says, or the one that was named; or else
// what the code says.
func TestSummaries(t *testing.T) {
	f := newFixture(t)
	f.content.Store = said{f.store}
	for model, want := range map[string]string{"": "two says it with [REDACTED", "one": "one says it", "three": "border draws what is around a row."} {
		f.content.Model = model
		base, own := serve(t, f.content, nil)
		_, _, body := request{path: "/api/unit", body: `{"repository":"draw","path":"table/table.go","symbol":"border"}`}.send(t, base, own)
		if !strings.Contains(body, `"summary":"`+want) || strings.Contains(body, "hunter2") {
			t.Errorf("for the model %q the page says %s", model, body)
		}
	}
}

// TestOneAtATime: nobody has two reports located at once, and leaving ends the work.
func TestOneAtATime(t *testing.T) {
	f := newFixture(t)
	reading := make(chan struct{})
	release := make(chan struct{})
	var once sync.Once
	text := f.content.Text
	f.content.Text = func(r *knowledge.Repository, path string) ([]byte, error) {
		once.Do(func() { close(reading) })
		<-release
		return text(r, path)
	}
	base, own := serve(t, f.content, guests)
	locate := request{path: "/api/locate", body: `{"text":"the border is cut"}`}
	first := make(chan int, 1)
	go func() { status, _, _ := locate.send(t, base, "good"); first <- status }()
	select {
	case <-reading:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is read")
	}
	if status, _, body := locate.send(t, base, "good"); status != 429 {
		t.Errorf("a second one at once: status %d, %s", status, body)
	}
	close(release)
	if status := <-first; status != 200 {
		t.Errorf("the first one: status %d", status)
	}
	for _, token := range []string{"good", own} {
		if status, _, body := locate.send(t, base, token); status != 200 {
			t.Errorf("afterwards: status %d, %s", status, body)
		}
	}
}

// slow is a store that answers no search before the question is given up.
type slow struct {
	knowledge.Store
	gaveUp chan error
}

func (s slow) Search(ctx context.Context, _ knowledge.Query) ([]knowledge.Hit, error) {
	<-ctx.Done()
	s.gaveUp <- ctx.Err()
	return nil, ctx.Err()
}

// TestPatience: an answer that takes too long ends, and so does one whose asker has left. A database that can't be reached is
// not named to guests.
func TestPatience(t *testing.T) {
	f := newFixture(t)
	store := slow{f.store, make(chan error, 2)}
	f.content.Store = store
	base, _ := serve(t, f.content, guests, func(s *catalog.Server) { s.SetPatience(50 * time.Millisecond) })
	search := request{path: "/api/search", body: `{"text":"border"}`}
	if status, _, body := search.send(t, base, "good"); status != 504 || !strings.Contains(body, "took longer than") {
		t.Errorf("a slow answer: status %d, %s", status, body)
	}
	<-store.gaveUp
	base, _ = serve(t, f.content, guests)
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", base+search.path, strings.NewReader(search.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer good"}, "Origin": {base}, "Content-Type": {"application/json"}}
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("an answer came")
	}
	select {
	case <-store.gaveUp:
	case <-time.After(10 * time.Second):
		t.Error("the search goes on")
	}

	f.content.Store = broken{f.store}
	for private, want := range map[bool]string{true: "503 the knowledge base can't be read now: try again in a moment\n", false: "500 db.example.com is down\n"} {
		f.content.Private = private
		failed := make(chan error, 1)
		f.content.Failed = func(err error) { failed <- err }
		base, _ = serve(t, f.content, guests)
		if status, _, body := search.send(t, base, "good"); fmt.Sprint(status, " ", body) != want {
			t.Errorf("a broken store: status %d, %q, want %q", status, body, want)
		}
		if private && (<-failed).Error() != "db.example.com is down" {
			t.Error("who started the page does not see why")
		}
	}
}

// broken is a store that can't be reached.
type broken struct{ knowledge.Store }

func (broken) Search(context.Context, knowledge.Query) ([]knowledge.Hit, error) {
	return nil, errors.New("db.example.com is down")
}
