package redacttest

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// privateKeys have a form of several lines.
var privateKeys = []recipe{
	pem("pem-rsa", "RSA PRIVATE KEY", 12),
	pem("pem-ec", "EC PRIVATE KEY", 3),
	pem("pem-pkcs8", "PRIVATE KEY", 12),
	pem("pem-encrypted", "ENCRYPTED PRIVATE KEY", 12),
	pem("pem-openssh", "OPENSSH PRIVATE KEY", 6),
	pem("pem-dsa", "DSA PRIVATE KEY", 8),
	pem("pem-pgp", "PGP PRIVATE KEY BLOCK", 14),
	{name: "pem-one-line", kind: PrivateKey, make: func(r *random) (string, []string) {
		text, lines := armor(r, "PRIVATE KEY", 8)
		return strings.ReplaceAll(text, "\n", `\n`), lines
	}, places: []Place{Assign, Field, Map, Call, Env, JSON, Message}},
	{name: "pem-concatenated-lines", kind: PrivateKey, make: func(r *random) (string, []string) { return armor(r, "RSA PRIVATE KEY", 8) },
		samples: func(text, ident string) []Sample {
			lines := strings.Split(text, "\n")
			for i, l := range lines {
				lines[i] = `"` + l + `\n"`
			}
			return inGo(strings.Join(lines, " +\n\t\t"), ident)
		}},
	{name: "gcp-service-account", kind: PrivateKey, make: func(r *random) (string, []string) {
		key, lines := armor(r, "PRIVATE KEY", 10)
		id := r.of(hex, 40)
		text := fmt.Sprintf(`{"type": "service_account", "private_key_id": "%s", "private_key": "%s\n", "client_email": "a@b.iam.gserviceaccount.com"}`,
			id, strings.ReplaceAll(key, "\n", `\n`))
		return text, append(lines, id)
	}, samples: func(text, ident string) []Sample {
		return []Sample{
			{Place: Assign, Text: ident + " := `" + text + "`"},
			{Place: Call, Text: "option.WithCredentialsJSON([]byte(`" + text + "`))"},
			{Place: Env, Text: "GOOGLE_CREDENTIALS=" + text},
			{Place: JSON, Text: text},
		}
	}},
	{name: "kube-client-key-data", kind: PrivateKey, ident: "clientKeyData", make: func(r *random) (string, []string) {
		key, _ := armor(r, "EC PRIVATE KEY", 3)
		text := base64.StdEncoding.EncodeToString([]byte(key))
		return text, []string{text[44:]}
	}, samples: func(text, ident string) []Sample {
		return append(inGo(quote(text), ident),
			Sample{Place: Value, Name: ident, Text: quote(text)},
			Sample{Place: JSON, Text: `{"name": "admin", "user": {"client-key-data": "` + text + `"}}`},
			Sample{Place: YAML, Text: "users:\n- name: admin\n  user:\n    client-key-data: " + text + "\n"})
	}},
	{name: "kube-client-key-data-der", kind: PrivateKey, ident: "clientKeyData", make: func(r *random) (string, []string) {
		text := "MHcCAQEEI" + r.of(base64of, 155)
		return text, []string{text[12:]}
	}, samples: func(text, ident string) []Sample {
		return append(inGo(quote(text), ident),
			Sample{Place: JSON, Text: `{"name": "admin", "user": {"client-key-data": "` + text + `"}}`},
			Sample{Place: YAML, Text: "users:\n- name: admin\n  user:\n    client-key-data: " + text + "\n"})
	}},
	{name: "putty", kind: PrivateKey, make: func(r *random) (string, []string) {
		lines := []string{r.of(base64of, 64), r.of(base64of, 64), r.of(base64of, 40)}
		return "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 3\n" + strings.Join(lines, "\n") + "\nPrivate-MAC: " + r.of(hex, 64), lines
	}, places: []Place{Assign, Field, Call, Message}},
	{name: "wireguard", kind: Named, make: func(r *random) (string, []string) {
		s := r.of(base64of, 42) + r.of("AEIMQUYcgkosw048", 1)
		return s + "=", []string{s}
	}, samples: func(text, ident string) []Sample {
		return []Sample{
			{Place: Field, Text: `c := wg.Config{PrivateKey: "` + text + `"}`},
			{Place: Assign, Text: `privateKey := "` + text + `"`},
			{Place: Value, Name: "privateKey", Text: `"` + text + `"`},
			{Place: Message, Text: "[Interface]\nPrivateKey = " + text + "\nAddress = 10.0.0.2/32\n"},
		}
	}},
}

// pem is a private key between the two lines that everybody knows.
func pem(name, kind string, lines int) recipe {
	return recipe{name: name, kind: PrivateKey, make: func(r *random) (string, []string) { return armor(r, kind, lines) },
		places: []Place{Assign, Field, Map, Call, Value, JSON, YAML, Message}}
}

func armor(r *random, kind string, n int) (text string, secrets []string) {
	for range n - 1 {
		secrets = append(secrets, r.of(base64of, 64))
	}
	secrets = append(secrets, r.of(base64of, 40))
	const dashes = "-----"
	return dashes + "BEGIN " + kind + dashes + "\n" + strings.Join(secrets, "\n") + "\n" + dashes + "END " + kind + dashes, secrets
}
