package postgres

import (
	"net/url"
	"slices"
	"strings"
)

// parsedURL is a URL whose parameter project was taken out.
type parsedURL struct {
	project string // "" if it names none
	secret  bool   // there is a password in it
	rest    string // for pgx
}

// parseURL takes what is ours out of a URL. All else goes to pgx as it is: it reads URLs as libpq does, and
// not as package net/url does. A host may be a socket's directory (%2Frun%2Fpostgresql), and a plus is a plus.
func parseURL(raw string) (u parsedURL, err error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	start := strings.ToLower(scheme) + "://"
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		_, password, _ := strings.Cut(rest[:i], ":")
		u.secret = password != ""
		start, rest = start+rest[:i+1], rest[i+1:]
	}
	address, query, asks := strings.Cut(rest, "?")
	if _, path, _ := strings.Cut(address, "/"); strings.Contains(path, "@") {
		// What was meant to be a password would be shown as the name of a database.
		return u, &URLError{"in a user, a password or a database / is to be written as %2F, and @ as %40"}
	}
	u.rest = start + address
	if !asks {
		return u, nil
	}
	var left []string
	for p := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(p, "=")
		if n, err := url.PathUnescape(name); err == nil {
			name = strings.TrimSpace(n)
		}
		switch name {
		case "project":
			if u.project != "" {
				return u, &URLError{"project is in it twice"}
			}
			if u.project, err = url.PathUnescape(value); err != nil {
				return u, &URLError{"the project's name"}
			}
			continue
		case "password", "sslpassword":
			u.secret = true
		}
		left = append(left, p)
	}
	if len(left) > 0 {
		u.rest += "?" + strings.Join(left, "&")
	}
	return u, nil
}

// Resembles reports whether a place was meant to be a database and is no URL of one: that of another scheme,
// or what psql takes instead of a URL, "host=... dbname=...". It may have a password in it, which is not to
// become the name of a file.
func Resembles(place string) bool {
	if IsURL(place) {
		return false
	}
	name, _, ok := strings.Cut(place, "=")
	return strings.Contains(place, "://") || strings.HasPrefix(strings.ToLower(place), "postgres:") || strings.HasPrefix(strings.ToLower(place), "postgresql:") ||
		ok && slices.Contains([]string{"host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode"}, strings.TrimSpace(name))
}
