//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestTokens makes tokens, uses and revokes them. A name is one token's at a time, and what is kept of a secret is its hash.
func TestTokens(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	for _, name := range []string{"", " anna", "an\nna", "an\xffna", strings.Repeat("x", 101)} {
		if _, err := s.AddToken(ctx, name); err == nil {
			t.Errorf("%q names a token", name)
		}
	}
	add := func(name string) string {
		t.Helper()
		secret, err := s.AddToken(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	first, other := add("anna"), add("it's Bob")
	if form := regexp.MustCompile(`^tracerag_[a-z2-7]{40}$`); !form.MatchString(first) || !form.MatchString(other) || first == other {
		t.Errorf("the secrets %q and %q", first, other)
	}
	if _, err := s.AddToken(ctx, "anna"); !errors.Is(err, knowledge.ErrTokenTaken) {
		t.Errorf("a name of two tokens: %v", err)
	}
	holder := func(secret, want string, wantErr error) {
		t.Helper()
		if name, err := s.Holder(ctx, secret); name != want || !errors.Is(err, wantErr) {
			t.Errorf("%q, %v holds it, want %q, %v", name, err, want, wantErr)
		}
	}
	holder(first, "anna", nil)
	holder(other, "it's Bob", nil)
	for _, wrong := range []string{"", first[:len(first)-1], strings.ToUpper(first), first + "\x00", "' OR true --", string(hashOf(first))} {
		holder(wrong, "", knowledge.ErrNoToken)
	}
	if err := s.RemoveToken(ctx, "anna"); err != nil {
		t.Error(err)
	}
	holder(first, "", knowledge.ErrRevoked)
	for _, name := range []string{"anna", "nobody", ""} {
		if err := s.RemoveToken(ctx, name); !errors.Is(err, knowledge.ErrNoToken) {
			t.Errorf("revoked again: %v", err)
		}
	}
	again := add("anna")
	holder(again, "anna", nil)
	holder(first, "", knowledge.ErrRevoked)
	list, err := s.Tokens(ctx)
	var text []string
	for _, x := range list {
		text = append(text, fmt.Sprint(x.Name, x.Role == owner.Name, time.Since(x.Created) < time.Minute, x.Used != nil, x.Revoked != nil))
	}
	if got, want := strings.Join(text, "; "), "annatrue true true true; annatrue true true false; it's Bobtrue true true false"; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	kept, err := rows.Values[string](s.query(ctx, "SELECT token::text FROM token"))
	if err != nil || len(kept) != 3 {
		t.Fatalf("%q, %v", kept, err)
	}
	for _, row := range kept {
		for _, secret := range []string{first, other, again} {
			if strings.Contains(row, secret[len(secretStart):]) {
				t.Errorf("the secret is kept: %s", row)
			}
		}
	}
}

// TestTokenUsed notes the last use of a token once a minute, and not at all where nothing may be written.
func TestTokenUsed(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	secret, err := s.AddToken(ctx, "anna")
	if err != nil {
		t.Fatal(err)
	}
	l, _ := Parse(owner.URL())
	reader, err := OpenRead(ctx, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	used := func(by *Store) (at time.Time) {
		t.Helper()
		if name, err := by.Holder(ctx, secret); name != "anna" || err != nil {
			t.Fatalf("%q, %v", name, err)
		}
		list, err := s.Tokens(ctx)
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if list[0].Used != nil {
			at = *list[0].Used
		}
		return at
	}
	if at := used(reader); !at.IsZero() {
		t.Errorf("who only reads noted a use at %v", at)
	}
	first := used(s)
	if first.IsZero() {
		t.Error("a use was not noted")
	}
	if again := used(s); !again.Equal(first) {
		t.Errorf("it was noted twice in a minute: %v and %v", first, again)
	}
	if _, err := s.pool.Exec(ctx, "UPDATE token SET used = used - interval '61 seconds'"); err != nil {
		t.Fatal(err)
	}
	if later := used(s); later.Before(first) {
		t.Errorf("after a minute it is noted as %v, before %v", later, first)
	}
}

// TestAudit notes questions, and keeps the beginning of long ones for 90 days.
func TestAudit(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	ask := func(q knowledge.Question) {
		t.Helper()
		if err := s.Asked(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("π", knowledge.MostAsked)
	ask(knowledge.Question{Who: "anna", What: "search", Text: "old"})
	ask(knowledge.Question{Who: "anna", What: "search", Text: "older"})
	ask(knowledge.Question{Who: "anna", What: "search", Text: "a\x00b\xff"})
	ask(knowledge.Question{Who: "bob", What: "locate", Text: long})
	ask(knowledge.Question{When: time.Unix(0, 0), Who: "anna", What: strings.Repeat("w", 1000), Text: "last", Role: "postgres"})
	audit := func(f knowledge.QuestionFilter) (out string) {
		t.Helper()
		list, err := s.Audit(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			if q.Role != owner.Name || time.Since(q.When) > 100*24*time.Hour {
				t.Errorf("%+v", q)
			}
			out += fmt.Sprintf("%s %.7s %q\n", q.Who, q.What, q.Text[:min(len(q.Text), 8)])
		}
		return out
	}
	if _, err := s.pool.Exec(ctx, "UPDATE audit SET asked = now() - CASE text WHEN 'old' THEN interval '89 days' ELSE interval '91 days' END WHERE text LIKE 'old%'"); err != nil {
		t.Fatal(err)
	}
	const last, locate, bytes, old = "anna wwwwwww \"last\"\n", "bob locate \"ππππ\"\n", "anna search \"a\\x00b\\xff\"\n", "anna search \"old\"\n"
	for want, f := range map[string]knowledge.QuestionFilter{
		last + locate + bytes + old: {},
		last + bytes + old:          {Who: "anna"},
		last + bytes:                {Who: "anna", Limit: 2},
		last + locate + bytes:       {Since: time.Now().Add(-time.Hour)},
		"":                          {Who: "carl"},
	} {
		if got := audit(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	list, err := s.Audit(ctx, knowledge.QuestionFilter{Who: "bob"})
	if err != nil || len(list) != 1 || len(list[0].Text) > knowledge.MostAsked || !strings.HasSuffix(list[0].Text, "π…") {
		t.Errorf("a long question: %v, %v", list, err)
	}
	left := func() int {
		t.Helper()
		n, err := rows.Values[int](s.query(ctx, "SELECT count(*) FROM audit"))
		if err != nil {
			t.Fatal(err)
		}
		return n[0]
	}
	if n := left(); n != 5 {
		t.Errorf("%d rows before a question, want the old ones, too", n)
	}
	ask(knowledge.Question{Who: "anna", What: "search", Text: "new"})
	if n := left(); n != 5 {
		t.Errorf("%d rows after a question, want one more and the oldest removed", n)
	}
}

// TestGuestsGuarded has a role that was admitted do what the store does, and around it what would make the audit worthless:
// change or remove rows, bring a revoked token back, or write in another role's name or time.
func TestGuestsGuarded(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	admin := opened(t, owner.URL("project", "one"), Options{})
	opened(t, owner.URL("project", "two"), Options{})
	member, other := owner.Other(t), owner.Other(t)
	if _, err := admin.pool.Exec(ctx, "SELECT admit('one', $1), admit('two', $2)", member.Name, other.Name); err != nil {
		t.Fatal(err)
	}
	s := opened(t, member.URL("project", "one"), Options{})
	foreign := opened(t, other.URL("project", "two"), Options{})
	secret, err := s.AddToken(ctx, "anna")
	if err != nil {
		t.Fatal(err)
	}
	if name, err := foreign.Holder(ctx, secret); !errors.Is(err, knowledge.ErrNoToken) {
		t.Errorf("another project lets %q in: %v", name, err)
	}
	if err := foreign.RemoveToken(ctx, "anna"); !errors.Is(err, knowledge.ErrNoToken) {
		t.Errorf("another project's token is revoked: %v", err)
	}
	if name, err := s.Holder(ctx, secret); name != "anna" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := foreign.pool.Exec(ctx, "SELECT use_token($1)", hashOf(secret)); err != nil {
		t.Error(err)
	}
	if err := s.Asked(ctx, knowledge.Question{Who: "anna", What: "search", Text: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := admin.pool.Exec(ctx, "UPDATE audit SET asked = now() - interval '91 days'"); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Asked(ctx, knowledge.Question{Who: "anna", What: "search", Text: "y"}); err != nil {
		t.Error(err)
	}
	if n, err := rows.Values[int](s.query(ctx, "SELECT count(*) FROM audit")); err != nil || n[0] != 1 {
		t.Errorf("another project's question removed a row: %v, %v", n, err)
	}
	conn, err := pgx.Connect(ctx, member.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT set_config('tracerag.project', 'one', false)"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"UPDATE tracerag.audit SET text = 'z'",
		"DELETE FROM tracerag.audit",
		"TRUNCATE tracerag.audit",
		"INSERT INTO tracerag.audit (project, asked, who, what, text) VALUES (%d, '2020-01-01', 'anna', '', '')",
		"INSERT INTO tracerag.audit (project, role, who, what, text) VALUES (%d, 'somebody', 'anna', '', '')",
		"UPDATE tracerag.token SET revoked = NULL",
		"UPDATE tracerag.token SET used = NULL",
		"DELETE FROM tracerag.token",
		"INSERT INTO tracerag.token (project, hash, name, role) VALUES (%d, 'x', 'x', 'somebody')",
		"INSERT INTO tracerag.token (project, hash, name, created) VALUES (%d, 'x', 'x', '2020-01-01')",
		"CREATE OR REPLACE FUNCTION tracerag.forget_audit() RETURNS void LANGUAGE sql AS 'DELETE FROM tracerag.audit'",
	} {
		if strings.Contains(query, "%d") {
			query = fmt.Sprintf(query, admin.project)
		}
		if _, err := conn.Exec(ctx, query); !isCode(err, denied) {
			t.Errorf("a role that was admitted may do %s: %v", query, err)
		}
	}
	if err := s.RemoveToken(ctx, "anna"); err != nil {
		t.Error(err)
	}
	if _, err := s.Holder(ctx, secret); !errors.Is(err, knowledge.ErrRevoked) {
		t.Errorf("a revoked token: %v", err)
	}
	list, err := s.Tokens(ctx)
	if err != nil || len(list) != 1 || list[0].Role != member.Name {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := admin.pool.Exec(ctx, "SELECT expel('one', $1)", member.Name); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Tokens(ctx); err != nil || len(list) > 0 {
		t.Errorf("a role that was expelled sees %v, %v", list, err)
	}
	if _, err := s.AddToken(ctx, "late"); err == nil {
		t.Error("a role that was expelled makes a token")
	}
}

// TestGuestsAreNotCopied leaves tokens and questions out of what is copied or dumped: a copy is for others.
func TestGuestsAreNotCopied(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	knowledgetest.Full(t, s, "word")
	before := knowledgetest.Dump(t, s)
	if _, err := s.AddToken(ctx, "anna"); err != nil {
		t.Fatal(err)
	}
	if err := s.Asked(ctx, knowledge.Question{Who: "anna", What: "search", Text: "who pays?"}); err != nil {
		t.Fatal(err)
	}
	if after := knowledgetest.Dump(t, s); after != before {
		t.Errorf("the dump has more:\n%s", after)
	}
	to := opened(t, owner.URL("project", "copy"), Options{})
	if err := rows.Copy(ctx, s, to, nil); err != nil {
		t.Fatal(err)
	}
	if knowledgetest.Dump(t, to) != before {
		t.Error("the copy is another one")
	}
	tokens, err := to.Tokens(ctx)
	questions, err2 := to.Audit(ctx, knowledge.QuestionFilter{})
	if err != nil || err2 != nil || len(tokens)+len(questions) > 0 {
		t.Errorf("the copy has %v and %v: %v, %v", tokens, questions, err, err2)
	}
}

// TestNoSecrets refuses what has not the form of a secret, also when nobody can be asked.
func TestNoSecrets(t *testing.T) {
	secret := newSecret()
	if !isSecret(secret) {
		t.Errorf("%s is none", secret)
	}
	for _, text := range []string{"", secretStart, secret[1:], secret + "a", secret[:len(secret)-1], secretStart + strings.Repeat("A", 40), strings.Replace(secret, "_", "-", 1)} {
		if _, err := (&Store{}).Holder(t.Context(), text); !errors.Is(err, knowledge.ErrNoToken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
