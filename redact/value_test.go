package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A value that was observed is a header, a form, a list of pairs. What is secret in it goes
// by the name of its field or key, or of what it is in.
func TestValuesWithinValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	letters := func(n int) string {
		const all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		b := make([]byte, n)
		for i := range b {
			b[i] = all[r.IntN(len(all))]
		}
		return string(b)
	}
	password, token := func() string { return "Q" + letters(5) + "!" + letters(4) + "7" }, func() string { return letters(32) }
	for _, tt := range []struct {
		name, text string // %s is a secret
		secret     func() string
	}{
		{"v", `{"password": ["%s"], "user": ["ann"]}`, password},
		{"v", `{"client_secret": ["%s"], "grant_type": ["x"]}`, token},
		{"h", `{"Cookie": ["session=%s"]}`, token},
		{"h", `{"Set-Cookie": ["sid=%s; Path=/"]}`, token},
		{"h", `{"Authorization": ["Token %s"]}`, token},
		{"h", `{"X-Api-Key": ["%s"]}`, token},
		{"env", `[{Name: "DB_PASSWORD", Value: "%s"}]`, password},
		{"env", `[{Name: "API_TOKEN", Value: "%s"}, {Name: "LANG", Value: "C"}]`, token},
		{"kv", `{Key: "password", Val: string("%s")}`, password},
		{"password", `&"%s"`, password},
		{"passwords", `["%s", "x"]`, password},
		{"passwords", `{"ann": "%s"}`, password},
		{"l", `&{User: "x", Pass: &"%s"}`, password},
		{"m", `{"db": map[string]any({"password": string("%s")})}`, password},
		{"s", `"<Password>%s</Password>"`, password},
		{"s", `"CREATE USER x IDENTIFIED BY '%s'"`, password},
		{"s", `"ALTER ROLE x WITH PASSWORD '%s';"`, password},
		{"err", `*errors.errorString(&{s: "auth: invalid password \"%s\" for user"})`, password},
		{"s", `"the password is %s"`, password},
	} {
		secret := tt.secret()
		text := fmt.Sprintf(tt.text, secret)
		if got := New().Value(tt.name, text); strings.Contains(got, secret) {
			t.Errorf("%s = %s", tt.name, got)
		}
	}
	raw := "[188, 49, 27, 77, 69, 117, 176, 23, 234, 4, 159, 53, ...]"
	if got := New().Value("secretKey", raw); strings.Contains(got, "188") {
		t.Error(got)
	}
	for _, tt := range [][2]string{ // what goes by such names, and is none
		{"tokens", `["FunctionDeclaration", "identifierName2", "someLongTokenName"]`},
		{"token", `&{Kind: "IDENT", Text: "resolveAllReferences2"}`},
		{"pass", `&{Name: "regalloc2", Required: true}`},
		{"v", `{"key": ["value2"], "page": ["12"]}`},
		{"f", `{Name: "password", Usage: "the password"}`},
		{"keys", "[1, 2, 3, 4, 5, 6, 7, 8, 9]"},
		{"m", `{"es_PW": "es_419"}`},
	} {
		if got := New().Value(tt[0], tt[1]); got != tt[1] {
			t.Errorf("%s = %s: got %s", tt[0], tt[1], got)
		}
	}
}

// Constants and names of real programs that are no secrets: of quic-go, grpc, xxhash.
func TestNamesAndConstantsStay(t *testing.T) {
	for _, line := range []string{
		"keyLabel := hkdfLabelKeyV1",
		"xsecret_000 uint64 = 0xbe4ba423396cfeb8",
		`rekeyRecordProtocolName = "ALTSRP_GCM_AES128_REKEY"`,
		`"es_PW": "es_419", "es_PY": "es_419"`,
	} {
		if got := New().Text(line); got != line {
			t.Errorf("%s: got %s", line, got)
		}
	}
}

// What was masked in a part of a value is known by itself.
func TestPlaced(t *testing.T) {
	r := New(Secret{"a", "Tr0ub4dor"}, Secret{"b", "c0rrecthorse"})
	r.Text("x Tr0ub4dor y")
	if got, want := r.Placed().Known(`"Tr0ub4dor", "c0rrecthorse"`, false), `"[REDACTED:a:1]", "c0rrecthorse"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
