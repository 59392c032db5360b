package redact

import (
	"encoding/base64"
	"regexp"
	"strings"

	"tracerag/redact/rules"
)

// ownRules find what gitleaks leaves to others, what it has no rules for yet, and what
// is in arguments and values more often than in sources.
func ownRules() []rules.Rule {
	out := []rules.Rule{
		{
			ID:       "url-password",
			Regex:    `(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'"<>]{0,100}:([^\s/:@'"<>]{3,200})@[a-z0-9\[%]`,
			Keywords: []string{"://"},
			Allow:    []rules.Allow{{Regexes: []string{`(?i)^(?:pass|password|passwd|pwd|pw|secret|test|foo|bar|baz|x+|\*+|\.+|x-oauth-basic)$`, `^[%${\[]`}}},
		},
		{
			// A token as the user, and the identifier of a project in Sentry's.
			ID:       "url-token",
			Regex:    `(?i)\bhttps?://([a-z0-9_-]{20,200})(?::(?:x-oauth-basic)?)?@[a-z0-9\[%]`,
			Entropy:  3,
			Keywords: []string{"http://", "https://"},
		},
		{
			ID:       "authorization",
			Regex:    `(?i)\b(?:bearer|basic)[ \t]+([a-z0-9._~+/-]{16,}={0,2})(?:[^a-z0-9._~+/=-]|\z)`,
			Entropy:  3.5,
			Keywords: []string{"bearer", "basic"},
		},
		{
			ID:       "authorization-header",
			Regex:    `(?i)\bauthorization["'` + "`" + `\\]{0,2}[ \t]*[:=,][ \t]*[\[{]?["'` + "`" + `\\]{0,2}(?:(?:bearer|basic|token|ssws|apikey|api-key|key|digest|genie(?:key)?)[ \t]+)?([a-z0-9._~+/-]{16,}={0,2})(?:[^a-z0-9._~+/=-]|\z)`,
			Keywords: []string{"authorization"},
		},
		{
			ID:       "cookie",
			Regex:    `(?i)\bcookie["'` + "`" + `\\]{0,2}[ \t]*[:,][ \t]*[\[{]?["'` + "`" + `\\]{0,2}(?:[^"'\r\n` + "`" + `]*?;[ \t]*)?[\w.-]*?(?:sess|sid|token|auth|jwt|remember)[\w.-]*=([^;"'\s` + "`" + `\\]{16,})`,
			Entropy:  3,
			Keywords: []string{"cookie"},
		},
		{
			// go-sql-driver's way: user:password@tcp(host:3306)/name
			ID:       "dsn-password",
			Regex:    `[\w.+$-]{1,64}:([^\s"'` + "`" + `<>(){}/][^\s"'` + "`" + `<>(){}]{2,127})@(?:tcp[46]?|unix|cloudsql|[a-z]+[+][a-z]+)\(`,
			Keywords: []string{"@tcp", "@unix(", "@cloudsql("},
			Allow:    []rules.Allow{{Regexes: []string{placeholderPassword, `^[%${\[]`}}},
		},
		{
			// Snowflake's: user:password@account/name
			ID:       "dsn-password",
			Regex:    `(?:^|[\s"'` + "`" + `=])[A-Za-z][\w.+-]{0,63}:([^\s:@/"'` + "`" + `<>(){}\[\],;]{6,128})@[a-z0-9][\w.-]{2,100}/[\w-]`,
			Keywords: []string{"@"},
			Allow:    []rules.Allow{{Regexes: []string{placeholderPassword, `^[%${\[]`}}},
		},
		{
			ID:       "netrc-password",
			Regex:    `(?i)\blogin[ \t]+\S{1,100}\s+password[ \t]+([^\s"'` + "`" + `\\]{4,200})`,
			Keywords: []string{"login"},
			Allow:    []rules.Allow{{Regexes: []string{placeholderPassword, `(?i)^(?:for|is|and|or|to|must|from|page|form)$`, `^[%${\[<]`}}},
		},
		{
			ID:       "sql-password",
			Regex:    `(?i)\bidentified\s+(?:with\s+\S{1,60}\s+)?by\s+(?:password\s+)?\\?['"]([^'"\s\\]{4,200})`,
			Keywords: []string{"identified"},
			Allow:    []rules.Allow{{Regexes: []string{placeholderPassword, `^[%${\[<]`}}},
		},
		{
			ID:       "azure-sas-signature",
			Regex:    `(?i)[?&;]sig=([a-z0-9%+/_-]{40,}=?)`,
			Entropy:  3,
			Keywords: []string{"sig="},
		},
		{
			ID:       "azure-key",
			Regex:    `(?i)\b(?:AccountKey|SharedAccessKey|Secret)=([a-z0-9+/]{40,88}={0,2})`,
			Entropy:  3.5,
			Keywords: []string{"accountkey=", "sharedaccesskey=", ";secret="},
		},
		{
			ID:       "docker-auth",
			Regex:    `\bauth\\?["'][ \t]*:[ \t]*\\?["']([A-Za-z0-9+/]{12,}={0,2})`,
			Keywords: []string{"auth"},
		},
		{
			ID:       "kube-client-key",
			Regex:    `(?i)client-key-data\\?["']?[ \t]*[:=,][ \t]*\\?["'` + "`" + `]?([a-z0-9+/]{64,}={0,2})`,
			Keywords: []string{"client-key-data"},
		},
		{
			ID:       "putty-private-key",
			Regex:    `Private-Lines:[ \t]*\d{1,3}([A-Za-z0-9+/=\s\\]{20,}?)Private-MAC`,
			Keywords: []string{"private-lines"},
		},
		{
			ID:       "discord-webhook",
			Regex:    `discord(?:app)?\.com/api/webhooks/\d{17,20}/([\w-]{60,})`,
			Keywords: []string{"/api/webhooks/"},
		},
		{
			ID:       "bcrypt-hash",
			Regex:    `\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}`,
			Entropy:  3.5,
			Keywords: []string{"$2a$", "$2b$", "$2y$"},
		},
	}
	for _, t := range ownTokens {
		out = append(out, rules.Rule{ID: t.id, Regex: t.regex, Entropy: 3, Keywords: strings.Fields(t.keywords)})
	}
	return out
}

// placeholderPassword is what examples have in a password's place.
const placeholderPassword = `(?i)^(?:pass|password|passwd|pwd|pw|secret|test|foo|bar|baz|x+|\*+|\.+)$`

// ownTokens are tokens that begin with letters of their own. Each is as long as its
// service makes it, so that no name in a program is one.
var ownTokens = []struct{ id, keywords, regex string }{
	{"gcp-access-token", "ya29.", `\bya29\.[\w-]{20,}`},
	{"gcp-client-secret", "gocspx-", `\bGOCSPX-[\w-]{28}`},
	{"gcp-refresh-token", "1//0", `\b1//0[\w-]{35,}`},
	{"firebase-server-key", ":apa91b", `\bAAAA[\w-]{7}:APA91b[\w-]{100,}`},
	{"tencent-secret-id", "akid", `\bAKID[A-Za-z0-9]{32}\b`},
	{"yandex-api-key", "aqvn", `\bAQVN[\w-]{35,38}`},
	{"azure-client-secret", "q~", `(?:^|[^\w~.-])([\w~.]{3}\dQ~[\w~.-]{31,34})`},
	{"scaleway-access-key", "scw", `\bSCW[A-Z0-9]{17}\b`},
	{"vault-token", "hvs. hvb. hvr.", `\bhv[sbr]\.[\w-]{90,}`},
	{"netlify-token", "nfp_", `\bnfp_[A-Za-z0-9]{36,}`},
	{"render-api-key", "rnd_", `\brnd_[A-Za-z0-9]{32}\b`},
	{"neon-api-key", "napi_", `\bnapi_[a-z0-9]{60,}`},
	{"tailscale-key", "tskey-", `\btskey-(?:auth|api|client|scim|webhook)-[\w-]{16,}`},
	{"nuget-api-key", "oy2", `\boy2[a-z0-9]{43}\b`},
	{"crates-token", "cio", `\bcio[A-Za-z0-9]{32}\b`},
	{"docker-token", "dckr_", `\bdckr_[op]at_[\w-]{20,}`},
	{"buildkite-token", "bkua_", `\bbkua_[0-9a-f]{40}\b`},
	{"circleci-token", "ccipat_", `\bCCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}\b`},
	{"sonar-token", "sqp_ squ_ sqa_", `\bsq[pua]_[0-9a-f]{40}\b`},
	{"anthropic-token", "sk-ant-", `\bsk-ant-[a-z]{2,8}\d\d-[\w-]{60,}`},
	{"openrouter-key", "sk-or-", `\bsk-or-v\d-[0-9a-f]{64}\b`},
	{"openai-api-key", "sk-proj-", `\bsk-proj-[\w-]{40,}`},
	{"api-key-sk", "sk-", `\bsk-[0-9a-f]{32}\b|\bsk-lf-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\bsk-[A-Za-z0-9]{48}\b`},
	{"xai-api-key", "xai-", `\bxai-[A-Za-z0-9]{60,}`},
	{"groq-api-key", "gsk_", `\bgsk_[A-Za-z0-9]{50,}`},
	{"replicate-token", "r8_", `\br8_[A-Za-z0-9]{37}\b`},
	{"nvidia-api-key", "nvapi-", `\bnvapi-[\w-]{60,}`},
	{"langsmith-key", "lsv2_", `\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}\b`},
	{"pinecone-key", "pcsk_", `\bpcsk_[A-Za-z0-9_]{50,}`},
	{"stripe-webhook-secret", "whsec_", `\bwhsec_[A-Za-z0-9+/]{32,}`},
	{"square-secret", "sq0csp-", `\bsq0csp-[\w-]{43}`},
	{"braintree-token", "access_token$", `\baccess_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}\b`},
	{"razorpay-key", "rzp_", `\brzp_(?:live|test)_[A-Za-z0-9]{14}\b`},
	{"plaid-access-token", "access-", `\baccess-(?:sandbox|development|production)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b`},
	{"flutterwave-secret", "flwseck", `\bFLWSECK(?:_TEST)?-[0-9A-Za-z]{32}`},
	{"mailgun-key", "key-", `\bkey-[0-9a-f]{32}\b`},
	{"mailchimp-key", "-us", `\b[0-9a-f]{32}-us\d{1,2}\b`},
	{"resend-key", "re_", `\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b`},
	{"new-relic-key", "nrak- nrii- nrjs- nrra- nrbr-", `\b(?:NRAK-[A-Z0-9]{27}\b|NRII-[\w-]{32}|NRJS-[0-9a-f]{19}\b|NRRA-[0-9a-f]{42}\b|NRBR-[0-9a-f]{19,}\b)`},
	{"new-relic-key", "nral", `\b[0-9a-f]{36}NRAL\b`},
	{"honeycomb-key", "hcaik_ hcalk_ hcaic_", `\bhca(?:ik|lk|ic)_[0-9a-z]{50,}`},
	{"supabase-token", "sbp_", `\bsbp_[0-9a-f]{40}\b`},
	{"supabase-key", "sb_secret_", `\bsb_secret_[\w-]{31}`},
	{"notion-token", "secret_", `\bsecret_[A-Za-z0-9]{43}\b`},
	{"figma-token", "figd_", `\bfigd_[\w-]{40,}`},
	{"typeform-token", "tfp_", `\btfp_[\w-]{40,}`},
	{"contentful-token", "cfpat-", `\bCFPAT-[\w-]{43}`},
	{"dropbox-token", "sl.u. sl.b.", `\bsl\.[uB]\.[\w-]{60,}`},
	{"tracerag-token", "tracerag_", `\btracerag_[a-z2-7]{40}\b`}, // those of knowledge.Guests
	{"mapbox-secret-token", "sk.eyj", `\bsk\.eyJ[\w-]{20,}\.[\w-]{20,}`},
}

// shaped are tokens without such letters: a run of letters, digits and marks is held
// against these as a whole.
var shaped = regexp.MustCompile(`\A(?:` +
	`[0-9]{8,10}:AA?[\w-]{33,34}` + // a Telegram bot's
	`|[MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27,40}` + // a Discord bot's
	`|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}` + // Airtable's
	`|[012]/\d{16}:[0-9a-f]{32}` + // Asana's
	`)\z`)

// shapedKinds are their kinds, by the first letters.
func shapedKind(s string) string {
	switch {
	case strings.HasPrefix(s, "pat"):
		return "airtable-token"
	case strings.IndexByte("MNO", s[0]) >= 0:
		return "discord-bot-token"
	case s[1] == '/':
		return "asana-token"
	}
	return "telegram-bot-token"
}

// userAndPassword reports whether a text is base64 of user:password, as it is in
// docker's configuration.
func userAndPassword(s string) bool {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(s)
	}
	user, password, ok := strings.Cut(string(data), ":")
	return err == nil && ok && printable(string(data)) && user != "" && len(password) >= 4
}

// printable reports whether a text is ASCII that can be shown, or white space.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return s != ""
}
