package redact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"go/build"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Secrets of these tests are put together here: no scanner should find any in
// this file, which GitHub would refuse.
var (
	aws    = "AKIA" + "2OGYBAH6" + "STMMNXNN"
	github = "ghp_" + "16C7e42F292c6912" + "E7710c838347Ae178B4a"
	pem    = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA7bq98mLdRWzXtqEHGqWHQB8r\n", 5) + "-----END RSA " + "PRIVATE KEY-----"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "func key(token string) error { return nil }", "func key(token string) error { return nil }"},
		{"by its form", `c.Key = "` + aws + `"`, `c.Key = "[REDACTED:aws-access-token:1]"`},
		{"again, and another one", aws + " " + github + " " + aws, "[REDACTED:aws-access-token:1] [REDACTED:github-pat:1] [REDACTED:aws-access-token:1]"},
		{"two of a kind", aws + " " + aws[:12] + "ABCDEFGH", "[REDACTED:aws-access-token:1] [REDACTED:aws-access-token:2]"},
		{"by the name beside it", `client_secret = "q8Zr2` + `Vx7Kp0Lm4Tn"`, `client_secret = "[REDACTED:generic-api-key:1]"`},
		{"also where no name is", `secret := "q8Zr2` + `Vx7Kp0Lm4Tn"; f(q8Zr2` + `Vx7Kp0Lm4Tn)`, `secret := "[REDACTED:generic-api-key:1]"; f([REDACTED:generic-api-key:1])`},
		{"lines stay", "a\n`" + pem + "`\nb", "a\n`[REDACTED:private-key:1]" + strings.Repeat("\n", 6) + "`\nb"},
		{"code about one", "const begin = \"-----BEGIN " + "PRIVATE KEY-----\"\n// It has lines of base64, and some words, and so on, and so on.\nconst end = \"-----END " + "PRIVATE KEY-----\"",
			"const begin = \"-----BEGIN " + "PRIVATE KEY-----\"\n// It has lines of base64, and some words, and so on, and so on.\nconst end = \"-----END " + "PRIVATE KEY-----\""},
		{"a name", "key.Type = KeyAlgoED25519\nvar key ed25519.PrivateKey\ntoken: sha256.Sum256Reader,", "key.Type = KeyAlgoED25519\nvar key ed25519.PrivateKey\ntoken: sha256.Sum256Reader,"},
		{"a value without quotes", "API_KEY=q8Zr2" + "Vx7Kp0Lm4Tn", "API_KEY=[REDACTED:generic-api-key:1]"},
		{"in a URL", "dsn := \"postgres://app:hun" + "ter2@db.example/x\"", "dsn := \"postgres://app:[REDACTED:url-password:1]@db.example/x\""},
		{"an example in a URL", "// http://user:password@host/ or http://u:%s@host", "// http://user:password@host/ or http://u:%s@host"},
		{"in a header", "Authorization: Bearer 7f3aQ9z" + "LkW2xPv8sTbN4", "Authorization: Bearer [REDACTED:authorization:1]"},
		{"prose about one", "// basic authentication needs a token; the key is a random string", "// basic authentication needs a token; the key is a random string"},
		{"code that reads one", `token := os.Getenv("GITHUB_TOKEN")`, `token := os.Getenv("GITHUB_TOKEN")`},

		// A traced program's files are data: what is in them changes nothing.
		{"allowed by a comment", `key := "` + aws + `" // gitleaks:allow`, `key := "[REDACTED:aws-access-token:1]" // gitleaks:allow`},
		{"allowed by its line", `secret := "q8Zr2` + `Vx7Kp0Lm4Tn" // --mount=type=secret,`, `secret := "[REDACTED:generic-api-key:1]" // --mount=type=secret,`},
		{"a placeholder in it", "[REDACTED:aws-access-token:3] " + aws, "[REDACTED:aws-access-token:3] [REDACTED:aws-access-token:4]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New()
			if got := r.Text(tt.text); got != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
			}
			if got := New().Text(tt.want); got != tt.want {
				t.Errorf("what is masked is masked again: %q", got)
			}
		})
	}
}

func TestPartsOfOneOutput(t *testing.T) {
	bare, named := "use(q8Zr2"+"Vx7Kp0Lm4Tn)", `secret := "q8Zr2`+`Vx7Kp0Lm4Tn"`
	r := New()
	r.Learn(bare)
	r.Learn(named)
	if len(r.Findings()) != 0 {
		t.Errorf("found in what was only shown: %v", r.Findings())
	}
	got := r.Text(bare) + r.Text(named)
	if want := `use([REDACTED:generic-api-key:1])secret := "[REDACTED:generic-api-key:1]"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if want := []Finding{{"generic-api-key", 1, 2}}; !slices.Equal(r.Findings(), want) {
		t.Errorf("findings %v, want %v", r.Findings(), want)
	}
}

func TestKnown(t *testing.T) {
	key := `sk-0ff` + `ice/"+&<=` + `é`
	asJSON, _ := json.Marshal(key)
	for name, text := range map[string]string{
		"as it is": key, "in a word": "x" + key + "y", "JSON": string(asJSON), "query": url.QueryEscape(key), "path": url.PathEscape(key),
		"base64": base64.StdEncoding.EncodeToString([]byte(key)), "Go": `"sk-0ff` + `ice/\"+&<=é"`,
	} {
		r := New(Secret{"env:NEVER", "not in the text"}, Secret{"env:SHORT_KEY", "e/"}, Secret{"api-key", key})
		got := r.Text("a " + text + " b")
		if !strings.Contains(got, "[REDACTED:api-key:1]") || strings.Contains(got, "0ffice") || strings.Contains(got, "SHORT") {
			t.Errorf("%s: %q gave %q", name, text, got)
		}
	}
	// A password that is a word is no part of other words.
	r := New(Secret{"env:PGPASSWORD", "postgres"})
	if got, want := r.Text("postgres postgresql \npostgres\\n"), "[REDACTED:env:PGPASSWORD:1] postgresql \n[REDACTED:env:PGPASSWORD:1]\\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvironment(t *testing.T) {
	got := Environment([]string{
		"HOME=/home/me", "PWD=/home/me/src", "GITHUB_TOKEN=t0", "DB_PASSWORD=p0", "DB_PASS=p1", "PGPASSWORD=p3", "MYSQL_PWD=p2", "OPENAI_API_KEY=k0", "GPG_KEY=k1",
		"AWS_SECRET_ACCESS_KEY=k2", "TRACERAG_API_KEY_FILE=/run/key", "SSH_PUBLIC_KEY=ssh-rsa", "MAX_TOKENS=5", "MONKEY=m", "clientSecret=s0",
		"DATABASE_URL=postgres://app:p4@db/x", "PROXY=http://proxy:3128", "GOOGLE_CREDENTIALS={}", "=x", "nothing",
	})
	want := []Secret{
		{"env:AWS_SECRET_ACCESS_KEY", "k2"}, {"env:DATABASE_URL", "p4"}, {"env:DB_PASS", "p1"}, {"env:DB_PASSWORD", "p0"}, {"env:GITHUB_TOKEN", "t0"},
		{"env:GOOGLE_CREDENTIALS", "{}"}, {"env:GPG_KEY", "k1"}, {"env:MYSQL_PWD", "p2"}, {"env:OPENAI_API_KEY", "k0"}, {"env:PGPASSWORD", "p3"}, {"env:clientSecret", "s0"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestArgs(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"app|--password=x y|-token=abc|--name=token", "app|--password=[REDACTED:password:1]|-token=[REDACTED:token:1]|--name=token"},
		{"app|--api-key|abc|file", "app|--api-key|[REDACTED:key:1]|file"},
		{"app|--pass|abc|--compass=north|--pass-through=x", "app|--pass|[REDACTED:password:1]|--compass=north|--pass-through=x"},
		{"app|--secret|--verbose", "app|--secret|--verbose"},
		{"app|--password", "app|--password"},
		{"jq|--key|name|--max-tokens=5|-sort-key=id", "jq|--key|name|--max-tokens=5|-sort-key=id"},
		{"env|DB_PASSWORD=abc|app", "env|DB_PASSWORD=[REDACTED:password:1]|app"},
		{"sh|-c|TOKEN='a b' app; KEY=c", "sh|-c|TOKEN=[REDACTED:token:1]"},
		{"-ldflags=-X main.apiKey=abc -s", "-ldflags=-X main.apiKey=[REDACTED:key:1] -s"},
		{"curl|http://h/?q=1&token=abc&z=2", "curl|http://h/?q=1&token=[REDACTED:token:1]&z=2"},
		{"app|--url=https://h/?token=hunter2secret", "app|--url=https://h/?token=[REDACTED:token:1]"},
		{"go|-ldflags=-X=main.password=hunter2", "go|-ldflags=-X=main.password=[REDACTED:password:1]"},
		{"docker|--env=DB_PASSWORD=hunter2", "docker|--env=DB_PASSWORD=[REDACTED:password:1]"},
		{"app|--cmd=\"PASSWORD=hunter2 x\"", "app|--cmd=\"PASSWORD=[REDACTED:password:1] x\""},
		{"app|" + aws + "|--id=" + aws, "app|[REDACTED:aws-access-token:1]|--id=[REDACTED:aws-access-token:1]"},
		{"app|-u|ann|-p|hunter2", "app|-u|ann|-p|[REDACTED:password:1]"},
		{"app|-p|Hunter2!", "app|-p|[REDACTED:password:1]"},
		{"mysql|-uroot|-phunter2|shop", "mysql|-uroot|-p[REDACTED:password:1]|shop"},
		{"docker|login|-u|ann|-p|hunter2|registry.internal", "docker|login|-u|ann|-p|[REDACTED:password:1]|registry.internal"},
		{"sudo|sshpass|-p|correct horse|ssh|h", "sudo|sshpass|-p|[REDACTED:password:1]|ssh|h"},
		{"curl|-u|ann:letmein|https://h/", "curl|-u|ann:[REDACTED:password:1]|https://h/"},
		{"app|--user=ann:hunter2|--proxy-user|ann:letmein", "app|--user=ann:[REDACTED:password:1]|--proxy-user|ann:[REDACTED:password:2]"},
		{"sh|-c|app --password 'hun ter2' -v; mysql -phunter2 x", "sh|-c|app --password '[REDACTED:password:1]' -v; mysql -p[REDACTED:password:2] x"},
		{"app|--cookie|session=abc", "app|--cookie|session=[REDACTED:cookie:1]"},
		{"app|--pw|hunter2|--pwd=/home/ann2", "app|--pw|[REDACTED:password:1]|--pwd=/home/ann2"},
		{"app|--password=hunter2hunter2|echo hunter2hunter2", "app|--password=[REDACTED:password:1]|echo [REDACTED:password:1]"},
	} {
		if got := strings.Join(New().Args(strings.Split(tt.args, "|")), "|"); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"password", `"x"`, `"[REDACTED:password:1]"`},
		{"password", `[104, 105]`, `[REDACTED:password:1]`},
		{"password", `nil`, `nil`},
		{"password", `""`, `""`},
		{"password", `[]`, `[]`},
		{"oldPassword", `0xc00`, `0xc00`},
		{"token", `"if"`, `"if"`},
		{"token", `"identifier expected"`, `"identifier expected"`},
		{"accessToken", `"7f3aQ9zLkW2xPv8s"`, `"[REDACTED:token:1]"`},
		{"AWSSecretKey", `"7f3aQ9zLkW2xPv8s"`, `"[REDACTED:key:1]"`},
		{"tok", `7`, `7`},
		{"key", `"7f3aQ9zLkW2xPv8s"`, `"7f3aQ9zLkW2xPv8s"`},
		{"u", `&{Name: "Ann", Password: "x", Age: 61}`, `&{Name: "Ann", Password: "[REDACTED:password:1]", Age: 61}`},
		{"m", `{"db_password": "a \"b\"", "x": "y"}`, `{"db_password": "[REDACTED:password:1]", "x": "y"}`},
		{"pw", `"hunter2"`, `"[REDACTED:password:1]"`},
		{"pwd", `"/home/ann2"`, `"/home/ann2"`},
		{"pass", `"inline"`, `"inline"`},
		{"password", `"` + strings.Repeat("word ", 9) + `"...`, `"[REDACTED:password:1]"...`},
		{"id", `"` + aws + `"`, `"[REDACTED:aws-access-token:1]"`},
	} {
		if got := New().Value(tt.name, tt.text); got != tt.want {
			t.Errorf("%s = %s\n got %s\nwant %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	r := New()
	r.Text(aws + " " + github + " " + github + " " + aws[:12] + "ABCDEFGH")
	if got, want := Summary(r.Findings()), "3 secrets (aws-access-token 2, github-pat 1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Summary(r.Findings()[:1]) + Summary(nil); got != "1 secret (aws-access-token 1)" {
		t.Errorf("got %q", got)
	}
}

// TestRulesCompile: no rule of the pinned version panics when its first keyword
// comes, and no list allows less than it says.
func TestRulesCompile(t *testing.T) {
	set, err := theRules()
	if err != nil {
		t.Fatal(err)
	}
	lists := slices.Clone(set.allow)
	for _, r := range set.rules {
		r.once.Do(r.compile)
		lists = append(lists, r.allow...)
	}
	allowed(lists, "", "")
	for _, l := range lists {
		if len(l.Regexes) > 0 && l.re == nil {
			t.Errorf("%q do not compile together", l.Regexes)
		}
	}
}

// TestRulesNotUnderstood: without rules nothing is known to be no secret.
func TestRulesNotUnderstood(t *testing.T) {
	why := errors.New("another version")
	without := func() *Redactor {
		r := New(Secret{"env:T", "c0rrect-h0rse"})
		r.rules = func() (*ruleSet, error) { return nil, why }
		return r
	}
	r := without()
	r.Learn("b")
	for _, tt := range []struct{ got, want string }{
		{r.Text("a\nb\n"), "[REDACTED:rules-not-understood:1]\n\n"},
		{r.Text("c0rrect-h0rse"), "[REDACTED:env:T:1]"},
		{r.Text(""), ""},
		{r.Value("name", `"Ann"`), "[REDACTED:rules-not-understood:2]"},
		{strings.Join(r.Args([]string{"app", "--name=x"}), " "), "[REDACTED:rules-not-understood:3] [REDACTED:rules-not-understood:4]"},
		{r.Text("[REDACTED:x:1] and more"), "[REDACTED:rules-not-understood:5]"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if r.Err() != why || New().Err() != nil {
		t.Errorf("errors %v and %v", r.Err(), New().Err())
	}
}

// FuzzText: whatever is around it, a known secret is gone, and lines stay.
func FuzzText(f *testing.F) {
	f.Add("a ", " b", `"key": "`)
	f.Add(pem, "[REDACTED:env:T:9]", "[REDACTED:")
	f.Add("token=", "=", "https://a:b@")
	f.Fuzz(func(t *testing.T, before, after, name string) {
		const secret = "c0rrect-h0rse"
		text := name + before + secret + after + secret
		r := New(Secret{"env:T", secret})
		got := r.Text(text)
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q has other lines than %q", got, text)
		}
		if strings.Contains(before+after+name, "[REDACTED:") {
			return // a placeholder that is there stays
		}
		if strings.Contains(got, secret) {
			t.Errorf("%q is not masked in %q", secret, got)
		}
		if again := New(Secret{"env:T", secret}).Text(text); again != got {
			t.Errorf("twice masked, %q and %q", got, again)
		}
	})
}

// BenchmarkText masks 400 kB of Go, a prompt of some 100,000 tokens.
func BenchmarkText(b *testing.B) {
	var text strings.Builder
	files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "net", "http", "*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("the sources of the standard library are not here")
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		if text.Write(data); text.Len() > 400_000 {
			break
		}
	}
	prompt := text.String()[:400_000]
	b.SetBytes(int64(len(prompt)))
	for b.Loop() {
		New().Text(prompt)
	}
}

// On the border of a rule's entropy a sum's order would decide.
func TestEntropyIsTheSameEachTime(t *testing.T) {
	const border = "xx6PxPxXXPEW8DxxjXxHxtsx"
	if e := entropy(border); e < 3-rounding || e > 3+rounding {
		t.Fatalf("%q has an entropy of %v, not 3", border, e)
	}
	for range 50 {
		if got := New().Text("etsy = \"" + border + "\"\n"); strings.Contains(got, border) {
			t.Fatalf("it stays: %s", got)
		}
	}
	if e := entropy(""); e != 0 {
		t.Errorf("of nothing: %v", e)
	}
}
