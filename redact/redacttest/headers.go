package redacttest

import (
	"encoding/base64"
	"strings"
)

// headers are known by the header that they are in.
var headers = []recipe{
	header("basic", "Authorization", "Basic ", func(r *random) string {
		return base64.StdEncoding.EncodeToString([]byte("admin:" + r.password()))
	}),
	header("bearer", "Authorization", "Bearer ", letters(mixed, 40)),
	header("bearer-hex", "Authorization", "Bearer ", letters(hex, 32)),
	header("token", "Authorization", "token ", letters(hex, 40)),
	header("okta-ssws", "Authorization", "SSWS ", letters(mixed, 42)),
	header("proxy-authorization", "Proxy-Authorization", "Basic ", func(r *random) string {
		return base64.StdEncoding.EncodeToString([]byte("proxy:" + r.password()))
	}),
	header("x-api-key", "X-Api-Key", "", letters(mixed, 32)),
	header("x-auth-token", "X-Auth-Token", "", letters(hex, 32)),
	header("x-vault-token", "X-Vault-Token", "", letters(mixed, 26)),
	header("dd-api-key", "DD-API-KEY", "", letters(hex, 32)),
	header("ocp-subscription-key", "Ocp-Apim-Subscription-Key", "", letters(hex, 32)),
	header("private-token", "PRIVATE-TOKEN", "", letters(mixed, 20)),
	header("cookie", "Cookie", "theme=dark; session=", letters(mixed, 40)),
	header("set-cookie", "Set-Cookie", "sessionid=", letters(alnum, 32)),
}

func header(name, field, scheme string, make func(*random) string) recipe {
	return recipe{name: "header-" + name, kind: Header, make: func(r *random) (string, []string) {
		s := make(r)
		return scheme + s, []string{strings.TrimRight(s, "=")}
	}, samples: func(text, ident string) []Sample {
		return []Sample{
			{Place: Map, Text: `h := map[string]string{"Accept": "*/*", "` + field + `": "` + text + `"}`},
			{Place: Call, Text: `req.Header.Set("` + field + `", "` + text + `")`},
			commandLine("app", "-H", field+": "+text, "https://api.example.com"),
			{Place: HTTP, Text: "GET /v1 HTTP/1.1\r\nHost: api.example.com\r\n" + field + ": " + text + "\r\nAccept: */*\r\n"},
			{Place: JSON, Text: `{"headers": {"` + field + `": "` + text + `"}}`},
			{Place: YAML, Text: "headers:\n  " + field + ": " + text + "\n"},
		}
	}}
}

// arguments are known by the flag that they follow.
var arguments = []recipe{
	argument("p", "app -u admin -p PW"),
	argument("p-alone", "app -p PW"),
	argument("p-attached", "app -u admin -pPW"),
	argument("p-attached-mysql", "mysql -uroot -pPW shop"),
	argument("p-sshpass", "sshpass -p PW ssh host"),
	argument("p-docker-login", "docker login -u robot -p PW registry.internal"),
	argument("P-capital", "app -U sa -P PW"),
	argument("a-redis", "redis-cli -a PW ping"),
	argument("w-ldap", "ldapsearch -D cn=admin -w PW"),
	argument("u-user", "app -u admin:PW https://ci.internal"),
	argument("u-curl", "curl -s -u admin:PW https://ci.internal"),
	argument("user", "app --user admin:PW"),
	argument("user-equals", "app --user=admin:PW"),
	argument("proxy-user", "app --proxy-user admin:PW"),
	argument("auth", "app --auth admin:PW"),
	argument("password", "app --password PW"),
	argument("password-equals", "app --password=PW"),
	argument("password-one-dash", "app -password PW"),
	argument("db-password", "app --db-password PW --verbose"),
	argument("passwd-equals", "app --passwd=PW"),
	argument("pass", "app --pass PW"),
	argument("pw", "app --pw PW"),
	argument("pwd", "app -pwd=PW"),
	argument("token", "app --token PW"),
	argument("api-key", "app --api-key PW"),
	argument("client-secret", "app --client-secret=PW"),
	argument("set", "helm install x --set db.password=PW"),
	argument("var", "terraform apply -var db_password=PW"),
	argument("define", "java -Ddb.password=PW -jar x.jar"),
	argument("env", "docker run -e DB_PASSWORD=PW image"),
	argument("data", "app -d user=a&password=PW"),
	{name: "args-json", kind: Argument, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine("app", "-d", `{"user":"ann","password":"`+text+`"}`)}
	}},
	{name: "args-keywords", kind: Argument, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine("psql", "host=db user=app password="+text+" dbname=shop")}
	}},
	{name: "args-shell", kind: Argument, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine("sh", "-c", "mysql -u root -p"+text+" shop < dump.sql")}
	}},
	{name: "args-shell-flag", kind: Argument, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine("sh", "-c", "app --password "+text+" --verbose")}
	}},
	{name: "args-cookie", kind: Argument, make: func(r *random) (string, []string) { return r.of(mixed, 32), nil }, samples: func(text, ident string) []Sample {
		return []Sample{commandLine("app", "--cookie", "session="+text)}
	}},
}

// argument is a command line in which PW is a password.
func argument(name, pattern string) recipe {
	return recipe{name: "args-" + name, kind: Argument, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine(strings.Fields(strings.ReplaceAll(pattern, "PW", text))...)}
	}}
}
