package redact

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoFalseMasks has code about secrets that holds none, as it is in sites' generators,
// bundlers, debuggers and tools for infrastructure.
func TestNoFalseMasks(t *testing.T) {
	for _, text := range []string{
		// Names of fields, labels and kinds.
		`password = "password"`, `const typePassword = "password"`, `token := "("`, `tok := token{kind: "ident", text: "password"}`, `case "password", "token":`,
		`attributes: map[string]string{"password": "string", "token": "computed"}`, `"password": {Type: cty.String, Sensitive: true},`, `input.Type = "password"`,
		`key := "title"`, `m["passwordField"] = "user_password_2"`, `authPlugin: "caching_sha2_password"`, `PasswordHash: "sha256"`, `password := "sha-512"`,
		`pass := "inline2"; run(pass)`, `pwd := "/home/user1/src"`, `pw := "stdin"`, `Password: cfg.Password,`, `Password: p2,`, `password: opts.Password2`, `token: lexer.TPlus2,`,
		`if !s.ReadUint16LengthPrefixed(&b) || !bytes.Equal(s.ReadUint24LengthPrefixed, b) {`, `"Client-TLS12-Sign": "PASS", "Server-TLS13-Sign": "PASS",`, "want := `--- PASS: TestHelper1.*\n`",
		`u := User{Login: String("ann1"), Authenticate: true}`, `ui.AskSecret("Name?1")`, `sign("secret", "\u3299\ufe0f")`, `token := "TestGetServerConfigFromV2Av3_token"`, `password := "XXXXXXXXXXXXXXXX-1"`,
		`password := ""`, `if password == "" || password == "-" {`, `password != "<sensitive>"`,
		// Words to people.
		`errors.New("password: must have 8 letters")`, `fmt.Errorf("wrong password %q for user %s", p, u)`, `prompt("Password: ")`, `log.Print("token expired, login again")`,
		`flag.String("password", "", "password of the user, or @file")`, `usage: "--password=STRING"`, `f.StringVar(&o.token, "token", "", "an access token")`, `help("set PASSWORD=... or --password=FILE")`,
		// Expressions.
		`password := os.Getenv("DB_PASSWORD")`, `password := fmt.Sprintf("%s:%s", user, salt)`, `dsn := fmt.Sprintf("%s:%s@tcp(%s:%d)/%s", c.User, c.Password, c.Host, c.Port, c.Name)`,
		`dsn := "${user}:${password}@tcp(${host})/db"`, `u := "postgres://{{.User}}:{{.Password}}@{{.Host}}/"`, `args = append(args, "--password="+leaks["flag"], "-v")`, `body := "{\"password\":\"" + p + "\"}"`,
		`req.SetBasicAuth(user, password)`, `req.SetBasicAuth("user", "pass")`, `a := smtp.PlainAuth("", user, pw, "mail2.example.com")`, `client.Login("user1", prompt())`, `url.UserPassword("me", "pw")`,
		`secret := "projects/p1/secrets/s2/versions/latest"`, `tokenKey = "kubernetes.io/service-account.name"`, `clientKey := "/etc/tls/client.key"`, `apiKey := "YOUR_API_KEY_HERE"`,
		// What looks like an encoding, a DSN, a header.
		`import "github.com/example/generators/templates/internal"`, `name := "InternalServiceAccountTokenControllerManager"`, `image := "registry.internal/team/app:v1@sha256:digest/x"`, `mail := "mailto:someone@example.com/x"`,
		`h.Set("Authorization", header)`, `w.Header().Add("Access-Control-Allow-Headers", "Authorization, Content-Type-Options")`, `map[string]string{"authorization": "authorizationCode"}`, `// Cookie: name=value; other=value2`,
		`table := [16]byte{'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'}`, `hello := []byte{72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 33, 33, 33}`,
		`s := "caf\u00e9 \x1b[31m" + "red" + "\u0041\u0042"`, `s := strings.Join([]string{"a", "b"}, "")`, `re := "(?i)^(?:pass|password|passwd|secret1)$"`,
		`x := "-----BEGIN CERT` + `IFICATE-----\nMIIB\n-----END CERT` + `IFICATE-----"`, `// see https://user:password@host/path and http://localhost:8080/@scope/name`,
	} {
		for _, in := range []string{text, "func f() {\n\t" + text + "\n}\n"} {
			if got := New().Text(in); got != in {
				t.Errorf("%s\nbecame %s", in, got)
			}
		}
	}
}

// TestNoFalseMasksInArguments has flags that are something else to their programs.
func TestNoFalseMasksInArguments(t *testing.T) {
	for _, args := range []string{
		"app|-p|8080", "app|-p|8080:80", "app|-p|127.0.0.1:8080", "mkdir|-p|Dir2/x!", "mkdir|-p|Build2024!", "app|-p|project2", "app|-p|./Pkg1/...", "app|-u|root|-p|5432", "app|-u|root|file",
		"docker|run|-p|8080:80|-u|1000:1000|image", "docker|run|-u|node:node|image", "ssh|-p|2222|host1", "go|test|-p|4|-parallel4|./...", "app|-parallel=8|-path=/a", "app|-u|nobody:nogroup",
		"app|--user|root:wheel", "tar|-p|-xf|Archive2.tar", "psql|-U|app|-p|5433|-h|db1", "app|--username|ann|--port|8080", "kubectl|-n|ns1|get|secret|-o|yaml", "app|-pprof|Profile2", "app|--pwd|/home/Ann2", "sh|-c|mkdir -p Dir2 && app -p 8080",
		"app|--client-key|/etc/tls/client.key", "app|--app-key|name", "curl|-u|ann|https://h1/", "python3|-m|http.server|-p|8000", "app|-l|en:de2", "app|--login|Ann2",
	} {
		if got := strings.Join(New().Args(strings.Split(args, "|")), "|"); got != args {
			t.Errorf("%s\nbecame %s", args, got)
		}
	}
}

// looksReal are files of modules that this one is built from in which something is
// found, all of it keys that look real. Nothing is found in any other.
var looksReal = []string{
	"github.com/jackc/pgx/v5/pgconn/pgconn.go",            // the code of an error, in a constant named ERRCODE_INVALID_PASSWORD
	"golang.org/x/mod/sumdb/note/note.go",                 // an example's
	"modernc.org/sqlite/lib/sqlite_g_0000000000060000.go", // names of formats, in constants named KEY_BLOB
}

// TestNoFalseMasksInModules reads the sources of modules that this one is built from, which are
// always here: a debugger, parsers, clients of services with keys. Tests, and what
// gitleaks makes its own tests of, hold keys that look real, and are not read.
func TestNoFalseMasksInModules(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 30 MB")
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./...")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, size, done := 0, 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if done[module] {
			continue
		}
		done[module] = true
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/cmd/generate/") || strings.Contains(filepath.ToSlash(path), "/testdata/") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files, size = files+1, size+len(data)
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			name, r := module+"/"+filepath.ToSlash(rel), New()
			r.Text(string(data))
			if found := Summary(r.Findings()); found != "" != slices.Contains(looksReal, name) {
				t.Errorf("%s: found %q", name, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
	t.Logf("%d files, %d bytes", files, size)
}
