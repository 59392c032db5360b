package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

var _ knowledge.Guests = (*Store)(nil)

// secretStart is how secrets begin, so that package redact knows one where it was written down.
const secretStart = "tracerag_"

// newSecret returns a secret of 200 random bits. It has no mark that a URL, a shell or a double click would trip over.
func newSecret() string {
	var b [25]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secretStart + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// isSecret reports whether a text has a secret's form. Others are refused without a question to the database.
func isSecret(text string) bool {
	rest, ok := strings.CutPrefix(text, secretStart)
	return ok && len(rest) == 40 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// hashOf is what is kept of a secret. Nobody finds 200 random bits by trying, so it needs neither salt nor time.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// mostName is how long names of tokens and kinds of questions may be, in bytes.
const mostName = 100

// AddToken is of [knowledge.Guests].
func (s *Store) AddToken(ctx context.Context, name string) (string, error) {
	if name == "" || len(name) > mostName || !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("%q can't name a token: it must have 1 to %d bytes, and no control characters or blanks around it", cutName(name), mostName)
	}
	secret := newSecret()
	err := s.writing(ctx, func(t *transaction) error {
		n, err := t.exec("INSERT INTO token (project, hash, name) VALUES ($1, $2, $3) ON CONFLICT (project, name) WHERE revoked IS NULL DO NOTHING", s.project, hashOf(secret), name)
		if err == nil && n == 0 {
			err = fmt.Errorf("%s: %w", name, knowledge.ErrTokenTaken)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

func cutName(name string) string { return strings.ToValidUTF8(name[:min(len(name), mostName)], "") }

// Tokens is of [knowledge.Guests].
func (s *Store) Tokens(ctx context.Context) ([]knowledge.Token, error) {
	return rows.All(s.query(ctx, "SELECT name, role, created, used, revoked FROM token ORDER BY name, created, hash"), func(scan rows.Scan) (t knowledge.Token, err error) {
		err = scan(&t.Name, &t.Role, &t.Created, &t.Used, &t.Revoked)
		return t, err
	})
}

// RemoveToken is of [knowledge.Guests].
func (s *Store) RemoveToken(ctx context.Context, name string) error {
	return s.writing(ctx, func(t *transaction) error {
		n, _, err := t.number("SELECT revoke_token($1)", name)
		if err == nil && n == 0 {
			err = fmt.Errorf("%s: %w, or it was revoked before", cutName(name), knowledge.ErrNoToken)
		}
		return err
	})
}

// Holder is of [knowledge.Guests].
func (s *Store) Holder(ctx context.Context, secret string) (name string, err error) {
	if !isSecret(secret) {
		return "", knowledge.ErrNoToken
	}
	hash := hashOf(secret)
	known := false
	var revoked *time.Time
	var fresh bool // whether the last use was noted
	err = s.query(ctx, "SELECT name, revoked, coalesce(used > now() - interval '1 minute', false) FROM token WHERE project = $1 AND hash = $2", s.project, hash).Each(func(scan rows.Scan) error {
		known = true
		return scan(&name, &revoked, &fresh)
	})
	switch {
	case err != nil:
		return "", err
	case !known:
		return "", knowledge.ErrNoToken
	case revoked != nil:
		return "", knowledge.ErrRevoked
	case fresh || s.read:
		return name, nil
	}
	return name, s.writing(ctx, func(t *transaction) error {
		_, err := t.exec("SELECT use_token($1)", hash)
		return err
	})
}

// Asked is of [knowledge.Guests].
func (s *Store) Asked(ctx context.Context, q knowledge.Question) error {
	text := q.Text
	if len(text) > knowledge.MostAsked {
		text = strings.ToValidUTF8(text[:knowledge.MostAsked-len(cutMark)], "") + cutMark
	}
	return s.writing(ctx, func(t *transaction) error {
		return t.do(
			sql("INSERT INTO audit (project, who, what, text) VALUES ($1, $2, $3, $4)", s.project, cutName(q.Who), cutName(q.What), text),
			sql("SELECT forget_audit()"))
	})
}

// cutMark ends a text of which more was asked.
const cutMark = "…"

// Audit is of [knowledge.Guests].
func (s *Store) Audit(ctx context.Context, f knowledge.QuestionFilter) ([]knowledge.Question, error) {
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	// What is too old may still be there, if nobody asked since.
	since := time.Now().Add(-knowledge.AuditKept)
	if f.Since.After(since) {
		since = f.Since
	}
	return rows.All(s.query(ctx, "SELECT asked, who, what, text, role FROM audit WHERE asked >= $1 AND ($2 = '' OR who = $2) ORDER BY asked DESC, id DESC LIMIT $3", since, f.Who, limit),
		func(scan rows.Scan) (q knowledge.Question, err error) {
			err = scan(&q.When, &q.Who, &q.What, &q.Text, &q.Role)
			return q, err
		})
}
