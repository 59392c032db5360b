package redacttest

import (
	"strconv"
	"strings"
)

// named are known by the name that they are beside.
var named = []recipe{
	beside("db-password", "dbPassword", (*random).password),
	beside("password", "password", (*random).password),
	beside("pw", "pw", (*random).password),
	beside("admin-passwd", "adminPasswd", (*random).password),
	beside("user-pwd", "userPwd", (*random).password),
	beside("smtp-pass", "smtpPass", (*random).password),
	beside("key-passphrase", "keyPassphrase", (*random).password),
	beside("snowflake-password", "snowflakePassword", (*random).password),
	beside("client-secret", "clientSecret", letters(mixed, 40)),
	beside("jwt-secret", "jwtSecret", letters(mixed, 32)),
	beside("session-secret", "sessionSecret", letters(hex, 64)),
	beside("webhook-secret", "webhookSecret", letters(mixed, 24)),
	beside("consumer-secret", "consumerSecret", letters(mixed, 50)),
	beside("auth-token", "authToken", letters(hex, 32)),
	beside("refresh-token", "refreshToken", letters(mixed, 64)),
	beside("api-key", "apiKey", letters(mixed, 32)),
	beside("api-key-hex", "apiKey", letters(hex, 32)),
	beside("encryption-key", "encryptionKey", letters(hex, 64)),
	beside("signing-key", "signingKey", letters(base64of, 43)),
	beside("aws-secret-access-key", "awsSecretAccessKey", letters(mixed, 40)),
	beside("aws-session-token", "awsSessionToken", letters(base64of, 300)),
	beside("azure-account-key", "accountKey", letters(mixed, 86)),
	beside("azure-openai-key", "azureOpenaiKey", letters(hex, 32)),
	beside("gcp-private-key-id", "privateKeyID", letters(hex, 40)),
	beside("datadog-api-key", "datadogAPIKey", letters(hex, 32)),
	beside("datadog-dd-api-key", "ddAPIKey", letters(hex, 32)),
	beside("datadog-app-key", "ddAppKey", letters(hex, 40)),
	beside("datadog-application-key", "datadogApplicationKey", letters(hex, 40)),
	beside("cloudflare-api-token", "cloudflareAPIToken", letters(mixed, 40)),
	beside("cloudflare-global-key", "cloudflareAPIKey", letters(hex, 37)),
	beside("cf-api-token", "cfAPIToken", letters(mixed, 40)),
	beside("twilio-auth-token", "twilioAuthToken", letters(hex, 32)),
	beside("okta-token", "oktaToken", func(r *random) string { return "00" + r.of(mixed, 40) }),
	beside("auth0-client-secret", "auth0ClientSecret", letters(mixed, 64)),
	beside("algolia-admin-key", "algoliaAdminKey", letters(hex, 32)),
	beside("heroku-api-key", "herokuAPIKey", (*random).uuid),
	beside("postmark-server-token", "postmarkServerToken", (*random).uuid),
	beside("railway-token", "railwayToken", (*random).uuid),
	beside("vercel-token", "vercelToken", letters(mixed, 24)),
	beside("mistral-api-key", "mistralAPIKey", letters(mixed, 32)),
	beside("cohere-api-key", "cohereAPIKey", letters(mixed, 40)),
	beside("fastly-api-token", "fastlyAPIToken", letters(mixed, 32)),
	beside("linode-token", "linodeToken", letters(hex, 64)),
	beside("snyk-token", "snykToken", (*random).uuid),

	// What code does with a password.
	statements("password-const", `const dbPassword = "PW"`, `var adminPassword = "PW"`, `var password string = "PW"`, `x, password := 1, "PW"`),
	statements("password-compared", `if pw != "PW" { return }`, `if "PW" == password { return }`, `ok := user == "admin" && pw == "PW"`, `switch password { case "PW": return }`),
	statements("password-set", `m["password"] = "PW"`, `c.Password = "PW"`, `v.Set("password", "PW")`, `os.Setenv("DB_PASSWORD", "PW")`),
	statements("basic-auth", `setBasicAuth("admin", "PW")`, `req.SetBasicAuth("admin", "PW")`, `u := url.UserPassword("admin", "PW")`, `a := smtp.PlainAuth("", "robot@example.com", "PW", "mail.example.com")`),
	statements("password-passed", `a := ssh.Password("PW")`, `login("admin", "PW")`, `c.Authenticate("admin", "PW")`, `s := sasl.Plain{Username: "app", Password: "PW"}`),
	statements("password-as-bytes", `password := []byte("PW")`, `ok := bcrypt.CompareHashAndPassword(hash, []byte("PW"))`, `ok := subtle.ConstantTimeCompare([]byte(password), []byte("PW"))`, `h := pbkdf2.Key([]byte("PW"), salt, 4096, 32, sha1.New)`),
	statements("password-flag", `p := flag.String("password", "PW", "of the database")`, `flag.StringVar(&c.password, "password", "PW", "of the database")`, `p := cmp.Or(os.Getenv("DB_PASSWORD"), "PW")`, `p := getenv("DB_PASSWORD", "PW")`),
	statements("password-in-a-map", `users := map[string]string{"password": "PW"}`, `body := map[string]any{"user": "ann", "password": "PW", "age": 61}`, `v := url.Values{"password": {"PW"}}`, "body := `{\"user\": \"ann\", \"password\": \"PW\"}`"),
	{name: "password-in-a-struct-value", kind: Named, make: password(`&{Name: "Ann", Password: "PW", Age: 61}`), samples: func(text, ident string) []Sample {
		return []Sample{{Place: Value, Name: "u", Text: text}}
	}},
	{name: "password-in-a-map-value", kind: Named, make: password(`{"db_password": "PW", "x": "y"}`), samples: func(text, ident string) []Sample {
		return []Sample{{Place: Value, Name: "m", Text: text}}
	}},
	{name: "password-as-bytes-value", kind: Named, make: func(r *random) (string, []string) {
		s := byteList(r.password(), ", ", strconv.Itoa)
		return "[" + s + "]", []string{s}
	}, samples: func(text, ident string) []Sample {
		return []Sample{{Place: Value, Name: "password", Text: text}}
	}},
}

func beside(name, ident string, make func(*random) string) recipe {
	return recipe{name: name, kind: Named, ident: ident, make: func(r *random) (string, []string) { return make(r), nil }}
}

func letters(letters string, n int) func(*random) string {
	return func(r *random) string { return r.of(letters, n) }
}

// statements are an assignment, a comparison or the like, and calls with a password:
// each is a sample of its own place, one after the other.
func statements(name string, patterns ...string) recipe {
	return recipe{name: name, kind: Named, make: func(r *random) (string, []string) { return r.password(), nil }, samples: func(text, ident string) []Sample {
		var out []Sample
		for i, p := range patterns {
			out = append(out, Sample{Place: []Place{Assign, Field, Map, Call}[i], Text: strings.ReplaceAll(p, "PW", text)})
		}
		return out
	}}
}

// byteList writes the bytes of a string one by one.
func byteList(s, between string, write func(int) string) string {
	var out []string
	for _, c := range []byte(s) {
		out = append(out, write(int(c)))
	}
	return strings.Join(out, between)
}
