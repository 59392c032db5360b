package redacttest

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// connections have the password in a place of their own.
var connections = []recipe{
	connection("postgres-url", "postgres://app:PW@db.internal:5432/shop?sslmode=require"),
	connection("postgres-keywords", "host=db.internal user=app password=PW dbname=shop"),
	connection("mysql-tcp", "app:PW@tcp(db.internal:3306)/shop?parseTime=true"),
	connection("mysql-unix", "app:PW@unix(/run/mysqld/mysqld.sock)/shop"),
	connection("mysql-url", "mysql://app:PW@db.internal/shop"),
	connection("mongodb", "mongodb://app:PW@a.internal:27017,b.internal:27017/shop"),
	connection("mongodb-srv", "mongodb+srv://app:PW@cluster0.abcde.mongodb.net/shop"),
	connection("redis", "redis://:PW@cache.internal:6379/0"),
	connection("rediss-user", "rediss://app:PW@cache.internal:6380/0"),
	connection("amqp", "amqp://app:PW@mq.internal:5672/vhost"),
	connection("nats", "nats://app:PW@mq.internal:4222"),
	connection("clickhouse-query", "clickhouse://ch.internal:9000/shop?username=app&password=PW"),
	connection("sqlserver-url", "sqlserver://sa:PW@db.internal:1433?database=shop"),
	connection("sqlserver-keywords", "Server=db.internal;Database=shop;User Id=sa;Password=PW;Encrypt=true"),
	connection("sqlserver-pwd", "server=db.internal;uid=sa;pwd=PW;database=shop"),
	connection("oracle-url", "oracle://app:PW@db.internal:1521/orcl"),
	connection("jdbc-query", "jdbc:postgresql://db.internal/shop?user=app&password=PW"),
	connection("snowflake", "app:PW@xy12345.eu-central-1/shop/public?warehouse=wh"),
	connection("smtp-url", "smtps://robot:PW@mail.internal:465"),
	connection("ftp-url", "ftp://robot:PW@files.internal/in"),
	connection("https-user", "https://robot:PW@ci.internal/job/1"),
	connection("kafka-jaas", `org.apache.kafka.common.security.plain.PlainLoginModule required username="app" password="PW";`),
	connection("ldap-bind", "ldap://ldap.internal/dc=example?bindpw=PW"),
	{name: "git-url-token", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(hex, 40)
		return "https://" + s + ":x-oauth-basic@git.internal/a/b.git", []string{s}
	}},
	{name: "git-url-job-token", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(mixed, 32)
		return "https://gitlab-ci-token:" + s + "@git.internal/a/b.git", []string{s}
	}},
	{name: "azure-storage", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(base64of, 86)
		return "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=" + s + "==;EndpointSuffix=core.windows.net", []string{s}
	}},
	{name: "azure-cosmos", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(base64of, 86)
		return "AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=" + s + "==;", []string{s}
	}},
	{name: "azure-service-bus", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(base64of, 43)
		return "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=" + s + "=;EntityPath=in", []string{s}
	}},
	{name: "azure-app-configuration", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(base64of, 43)
		return "Endpoint=https://shop.azconfig.io;Id=ab1-l0-s0:" + r.of(mixed, 20) + ";Secret=" + s + "=", []string{s}
	}},
	{name: "azure-sas", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(mixed, 43)
		return "https://shop.blob.core.windows.net/in/a.csv?sv=2022-11-02&st=2024-01-01T00%3A00%3A00Z&se=2025-01-01T00%3A00%3A00Z&sr=b&sp=r&sig=" + s + "%3D", []string{s}
	}},
	{name: "azure-sas-encoded", kind: Connection, make: func(r *random) (string, []string) {
		s := r.of(mixed, 20) + "%2F" + r.of(mixed, 10) + "%2B" + r.of(mixed, 11)
		return "?sp=rl&se=2025-01-01&spr=https&sv=2022-11-02&sr=c&sig=" + s + "%3D", []string{s}
	}},
	{name: "password-url-encoded", kind: Connection, make: func(r *random) (string, []string) {
		s := url.QueryEscape(r.password() + "/@:" + r.of(mixed, 6))
		return "postgres://app:" + s + "@db.internal/shop", []string{s}
	}},
	{name: "docker-config-auth", kind: Connection, make: func(r *random) (string, []string) {
		s := base64.StdEncoding.EncodeToString([]byte("robot:" + r.password() + r.of(mixed, 8)))
		return `{"auths":{"registry.internal":{"auth":"` + s + `"}}}`, []string{s[8:]}
	}, samples: func(text, ident string) []Sample {
		return []Sample{
			{Place: Assign, Text: ident + " := `" + text + "`"},
			{Place: Env, Text: "DOCKER_AUTH_CONFIG=" + text},
			{Place: JSON, Text: text},
			{Place: Message, Text: "config " + text},
		}
	}},
	{name: "netrc", kind: Connection, make: password("machine api.internal login robot password PW"), places: []Place{Assign, Call, Message}},
	{name: "npmrc", kind: Connection, make: func(r *random) (string, []string) {
		s := r.uuid()
		return "//registry.internal/:_authToken=" + s, []string{s}
	}, places: []Place{Assign, Call, Message}},
}

// connection is a string in which PW is a password.
func connection(name, pattern string) recipe {
	return recipe{name: name, kind: Connection, make: password(pattern)}
}

func password(pattern string) func(*random) (string, []string) {
	return func(r *random) (string, []string) {
		s := r.password()
		return strings.ReplaceAll(pattern, "PW", s), []string{s}
	}
}
