package postgres

import (
	"errors"
	"strings"
	"testing"
)

// TestURL reads URLs as libpq does.
func TestURL(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE"} {
		t.Setenv(name, "")
	}
	t.Setenv("PGPASSFILE", "/nothing")
	for _, c := range []struct {
		url, server, project, password string
	}{
		{"postgres://u@h/d", "u@h:5432/d", "default", ""},
		{"PostgreSQL://u@h:1/d?project=p", "u@h:1/d", "p", ""},
		{"postgres://u:a%20%2F%40%2B+%25@h/d%20e", "u@h:5432/d e", "default", "a /@++%"},
		{"postgres://u@h/d?password=a%20b+%2B&project=a%20b+c", "u@h:5432/d", "a b+c", "a b++"},
		{"postgres://u@h/d?project=%F0%9F%98%80&p%61ssword=x", "u@h:5432/d", "😀", "x"},
		{"postgres://u@%2Frun%2Fpostgresql/d", "u@/run/postgresql/d", "default", ""},
		{"postgres://u@/d?host=/run/with%20space", "u@/run/with space/d", "default", ""},
		{"postgres://u:p?q@[::1]:7/d", "u@[::1]:7/d", "default", "p?q"},
		{"postgres://u@h1:1,h2:2/d?project=", "u@h1:1/d", "default", ""},
	} {
		l, err := Parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if l.Server != c.server || l.Project != c.project || l.Password != c.password || l.InURL != (c.password != "") {
			t.Errorf("%s: %s, %s, %q, %v", c.url, l.Server, l.Project, l.Password, l.InURL)
		}
		if again, err := Parse("postgres://u@h/d?project=" + l.String()[strings.LastIndex(l.String(), "=")+1:]); err != nil || again.Project != c.project {
			t.Errorf("%s is shown as %s: %v", c.url, l, err)
		}
	}
	var e *URLError
	for _, bad := range []string{
		"postgres://u:123/s3cret@h/d", // its password would be a database's name
		"postgres://u:/s3cret@h/d",
		"postgres://u@h/d?project=%ff",
		"postgres://u@h/d?project=a&project=b",
		"postgres://u@h/d?project=%zz",
		"postgres://u:s3cret%zz@h/d",
		"postgres://u@h/d?password",
		"file.db",
	} {
		if _, err := Parse(bad); !errors.As(err, &e) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for place, want := range map[string]bool{
		"mysql://u:p@h/d": true, "postgres:u@h/d": true, "Postgres:/x": true, "host=h dbname=d password=p": true, " user = u": true, "http://h": true,
		"postgres://u@h/d": false, "POSTGRES://u@h/d": false, "knowledge.db": false, "/tmp/a=b": false, "./host=h": false, "C:\\x.db": false, "": false, "postgres": false,
	} {
		if Resembles(place) != want {
			t.Errorf("%s resembles a database: %v", place, !want)
		}
	}
}
