package redacttest

import (
	"encoding/base64"
	"fmt"
)

// tokens are known by their own form.
var tokens = []recipe{
	// Clouds.
	plain("aws-access-key-id", "AKIA", base32up, 16),
	plain("aws-temporary-key-id", "ASIA", base32up, 16),
	prefixed("aws-bedrock-key", "ABSK", base64of, 128),
	form("gcp-api-key", func(r *random) (string, []string) { s := r.in(word, 35); return "AIza" + s, []string{s} }),
	prefixed("gcp-access-token", "ya29.", word, 120),
	prefixed("gcp-client-secret", "GOCSPX-", word, 28),
	form("gcp-refresh-token", func(r *random) (string, []string) { s := r.in(word, 60); return "1//0" + s, []string{s} }),
	form("azure-client-secret", func(r *random) (string, []string) {
		s := r.of(mixed, 3) + r.of(digits, 1) + "Q~" + r.in(mixed+"_.~-", 34)
		return s, nil
	}),
	form("firebase-server-key", func(r *random) (string, []string) {
		s := r.in(word, 140)
		return "AAAA" + r.of(word, 7) + ":APA91b" + s, []string{s}
	}),
	plain("alibaba-access-key-id", "LTAI", alnum, 20),
	plain("tencent-secret-id", "AKID", mixed, 32),
	prefixed("yandex-api-key", "AQVN", word, 36),
	plain("digitalocean-pat", "dop_v1_", hex, 64),
	plain("digitalocean-oauth", "doo_v1_", hex, 64),
	plain("digitalocean-refresh", "dor_v1_", hex, 64),
	prefixed("heroku-key", "HRKU-AA", word, 58),
	plain("scaleway-access-key", "SCW", upper+digits, 17),
	form("cloudflare-origin-ca", func(r *random) (string, []string) {
		s := r.of(hex, 146)
		return "v1.0-" + r.of(hex, 24) + "-" + s, []string{s}
	}),
	prefixed("flyio-token", "fo1_", word, 43),
	form("flyio-macaroon", func(r *random) (string, []string) {
		s := r.in(base64of, 120)
		return "fm2_" + s + "==", []string{s}
	}),
	plain("netlify-token", "nfp_", mixed, 36),
	plain("render-key", "rnd_", mixed, 32),
	plain("neon-key", "napi_", alnum, 64),
	form("tailscale-auth-key", tailscale("auth")),
	form("tailscale-api-key", tailscale("api")),
	form("tailscale-client-secret", tailscale("client")),

	// Where code is kept and built.
	plain("github-pat", "ghp_", mixed, 36),
	plain("github-oauth", "gho_", mixed, 36),
	plain("github-user-to-server", "ghu_", mixed, 36),
	plain("github-app", "ghs_", mixed, 36),
	plain("github-refresh", "ghr_", mixed, 36),
	form("github-fine-grained", func(r *random) (string, []string) {
		a, b := r.of(mixed, 22), r.of(mixed, 59)
		return "github_pat_" + a + "_" + b, []string{a, b}
	}),
	prefixed("gitlab-pat", "glpat-", word, 20),
	prefixed("gitlab-deploy", "gldt-", word, 20),
	prefixed("gitlab-runner", "glrt-", word, 20),
	form("gitlab-job", func(r *random) (string, []string) {
		s := r.in(word, 20)
		return "glcbt-" + r.of(hex, 2) + "_" + s, []string{s}
	}),
	plain("gitlab-trigger", "glptt-", hex, 40),
	prefixed("gitlab-oauth", "gloas-", word, 64),
	prefixed("gitlab-agent", "glagent-", word, 50),
	plain("npm", "npm_", alnum, 36),
	prefixed("pypi", "pypi-AgEIcHlwaS5vcmc", word, 70),
	plain("rubygems", "rubygems_", hex, 48),
	plain("nuget", "oy2", alnum, 43),
	plain("crates", "cio", mixed, 32),
	plain("clojars", "CLOJARS_", alnum, 60),
	prefixed("dockerhub-pat", "dckr_pat_", word, 27),
	prefixed("dockerhub-oat", "dckr_oat_", word, 32),
	plain("jfrog", "AKCp", mixed, 69),
	plain("buildkite", "bkua_", hex, 40),
	form("circleci", func(r *random) (string, []string) {
		s := r.of(hex, 40)
		return "CCIPAT_" + r.of(mixed, 22) + "_" + s, []string{s}
	}),
	plain("pulumi", "pul-", hex, 40),
	form("postman", func(r *random) (string, []string) {
		s := r.of(hex, 34)
		return "PMAK-" + r.of(hex, 24) + "-" + s, []string{s}
	}),
	plain("sonar", "squ_", hex, 40),
	plain("sourcegraph", "sgp_", hex, 40),
	plain("doppler", "dp.pt.", mixed, 43),
	form("terraform-cloud", func(r *random) (string, []string) {
		s := r.in(word, 66)
		return r.of(mixed, 14) + ".atlasv1." + s, []string{s}
	}),
	prefixed("vault-service", "hvs.", word, 95),
	prefixed("vault-batch", "hvb.", word, 150),
	plain("vault-old", "s.", mixed, 24),
	prefixed("onepassword-service", "ops_eyJ", base64of, 250),
	form("openshift", func(r *random) (string, []string) { s := r.in(word, 43); return "sha256~" + s, []string{s} }),

	// Models.
	form("openai-project", func(r *random) (string, []string) {
		a, b := r.in(word, 74), r.in(word, 74)
		return "sk-proj-" + a + "T3BlbkFJ" + b, []string{a, b}
	}),
	form("openai-service-account", func(r *random) (string, []string) {
		a, b := r.in(word, 58), r.in(word, 58)
		return "sk-svcacct-" + a + "T3BlbkFJ" + b, []string{a, b}
	}),
	form("openai-old", func(r *random) (string, []string) {
		a, b := r.of(mixed, 20), r.of(mixed, 20)
		return "sk-" + a + "T3BlbkFJ" + b, []string{a, b}
	}),
	form("anthropic", func(r *random) (string, []string) {
		s := r.in(word, 93)
		return "sk-ant-api03-" + s + "AA", []string{s}
	}),
	form("anthropic-admin", func(r *random) (string, []string) {
		s := r.in(word, 93)
		return "sk-ant-admin01-" + s + "AA", []string{s}
	}),
	form("anthropic-oauth", func(r *random) (string, []string) {
		s := r.in(word, 93)
		return "sk-ant-oat01-" + s + "AA", []string{s}
	}),
	plain("openrouter", "sk-or-v1-", hex, 64),
	plain("deepseek", "sk-", hex, 32),
	plain("huggingface", "hf_", lower+upper, 34),
	plain("xai", "xai-", mixed, 80),
	plain("groq", "gsk_", mixed, 52),
	plain("perplexity", "pplx-", mixed, 48),
	plain("replicate", "r8_", mixed, 37),
	prefixed("nvidia", "nvapi-", word, 64),
	form("langsmith", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return "lsv2_pt_" + s + "_" + r.of(hex, 10), []string{s}
	}),
	form("langfuse", func(r *random) (string, []string) { s := r.uuid(); return "sk-lf-" + s, []string{s} }),
	plain("pinecone", "pcsk_", mixed, 60),

	// Talk, mail, money.
	form("slack-bot", func(r *random) (string, []string) {
		s := r.of(mixed, 24)
		return "xoxb-" + r.of(digits, 12) + "-" + r.of(digits, 13) + "-" + s, []string{s}
	}),
	form("slack-user", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return "xoxp-" + r.of(digits, 12) + "-" + r.of(digits, 12) + "-" + r.of(digits, 13) + "-" + s, []string{s}
	}),
	form("slack-app", func(r *random) (string, []string) {
		s := r.of(hex, 64)
		return "xapp-1-A" + r.of(upper+digits, 10) + "-" + r.of(digits, 13) + "-" + s, []string{s}
	}),
	form("slack-config", func(r *random) (string, []string) {
		s := r.of(upper+digits, 163)
		return "xoxe.xoxp-1-" + s, []string{s}
	}),
	form("slack-webhook", func(r *random) (string, []string) {
		s := r.of(mixed, 24)
		return "https://hooks.slack.com/services/T" + r.of(upper+digits, 10) + "/B" + r.of(upper+digits, 10) + "/" + s, []string{s}
	}),
	form("discord-bot", func(r *random) (string, []string) {
		s := r.of(mixed, 38)
		return "MT" + r.of(mixed, 24) + "." + "G" + r.of(mixed, 5) + "." + s, []string{s}
	}),
	form("discord-webhook", func(r *random) (string, []string) {
		s := r.in(word, 68)
		return "https://discord.com/api/webhooks/" + r.of(digits, 19) + "/" + s, []string{s}
	}),
	form("telegram-bot", func(r *random) (string, []string) {
		s := r.in(word, 34)
		return "7" + r.of(digits, 9) + ":A" + s, []string{s}
	}),
	plain("stripe-secret", "sk_live_", mixed, 99),
	plain("stripe-test", "sk_test_", mixed, 24),
	plain("stripe-restricted", "rk_live_", mixed, 99),
	plain("stripe-webhook", "whsec_", mixed, 32),
	prefixed("square-access", "EAAA", word, 60),
	prefixed("square-secret", "sq0csp-", word, 43),
	prefixed("square-oauth", "sq0atp-", word, 22),
	form("braintree", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return "access_token$production$" + r.of(alnum, 16) + "$" + s, []string{s}
	}),
	plain("razorpay", "rzp_live_", mixed, 14),
	form("plaid-access", func(r *random) (string, []string) { s := r.uuid(); return "access-sandbox-" + s, []string{s} }),
	plain("flutterwave", "FLWSECK_TEST-", hex, 32),
	plain("shopify-access", "shpat_", hex, 32),
	plain("shopify-custom", "shpca_", hex, 32),
	plain("shopify-private", "shppa_", hex, 32),
	plain("shopify-shared", "shpss_", hex, 32),
	plain("shippo", "shippo_live_", hex, 40),
	plain("easypost", "EZAK", mixed, 54),
	prefixed("duffel", "duffel_test_", word, 43),
	plain("twilio-key", "SK", hex, 32),
	form("sendgrid", func(r *random) (string, []string) {
		s := r.in(word, 43)
		return "SG." + r.in(word, 22) + "." + s, []string{s}
	}),
	form("brevo", func(r *random) (string, []string) {
		s := r.of(hex, 64)
		return "xkeysib-" + s + "-" + r.of(mixed, 16), []string{s}
	}),
	plain("mailgun", "key-", hex, 32),
	form("mailchimp", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return s + "-us" + r.of("123456789", 1), []string{s}
	}),
	form("resend", func(r *random) (string, []string) {
		s := r.of(mixed, 24)
		return "re_" + r.of(mixed, 8) + "_" + s, []string{s}
	}),

	// Tools, data, watching.
	plain("databricks", "dapi", hex, 32),
	plain("newrelic-user", "NRAK-", upper+digits, 27),
	prefixed("newrelic-insert", "NRII-", word, 32),
	plain("newrelic-browser", "NRJS-", hex, 19),
	form("newrelic-license", func(r *random) (string, []string) {
		s := r.of(hex, 36)
		return s + "NRAL", []string{s}
	}),
	form("grafana-cloud", func(r *random) (string, []string) {
		s := base64.StdEncoding.EncodeToString([]byte(`{"o":"` + r.of(digits, 6) + `","n":"stack","k":"` + r.of(mixed, 24) + `"}`))
		return "glc_" + s, []string{s[20:]}
	}),
	form("grafana-service-account", func(r *random) (string, []string) {
		s := r.of(mixed, 32)
		return "glsa_" + s + "_" + r.of(hex, 8), []string{s}
	}),
	form("sentry-dsn", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return "https://" + s + "@o" + r.of(digits, 6) + ".ingest.sentry.io/" + r.of(digits, 7), []string{s}
	}),
	plain("sentry-user", "sntryu_", hex, 64),
	form("dynatrace", func(r *random) (string, []string) {
		s := r.of(base32up, 64)
		return "dt0c01." + r.of(base32up, 24) + "." + s, []string{s}
	}),
	plain("honeycomb-ingest", "hcaik_", alnum, 58),
	plain("tracerag-token", "tracerag_", base32lo, 40),
	plain("supabase-pat", "sbp_", hex, 40),
	prefixed("supabase-secret", "sb_secret_", word, 31),
	prefixed("planetscale-token", "pscale_tkn_", word, 43),
	prefixed("planetscale-password", "pscale_pw_", word, 43),
	prefixed("planetscale-oauth", "pscale_oauth_", word, 43),
	form("airtable", func(r *random) (string, []string) {
		s := r.of(hex, 64)
		return "pat" + r.of(mixed, 14) + "." + s, []string{s}
	}),
	plain("linear", "lin_api_", mixed, 40),
	form("notion", func(r *random) (string, []string) {
		s := r.of(mixed, 35)
		return "ntn_" + r.of(digits, 11) + s, []string{s}
	}),
	plain("notion-old", "secret_", mixed, 43),
	prefixed("figma", "figd_", word, 43),
	prefixed("atlassian", "ATATT3xFfGF0", word, 180),
	form("asana", func(r *random) (string, []string) {
		s := r.of(hex, 32)
		return "1/1" + r.of(digits, 15) + ":" + s, []string{s}
	}),
	prefixed("typeform", "tfp_", word, 59),
	prefixed("contentful", "CFPAT-", word, 43),
	plain("prefect", "pnu_", alnum, 36),
	plain("readme", "rdme_", alnum, 70),
	prefixed("dropbox-short", "sl.u.", word, 130),
	plain("facebook-page", "EAAM", mixed, 150),
	form("mapbox-secret", func(r *random) (string, []string) {
		s := r.in(word, 22)
		return "sk.eyJ1Ijoi" + r.of(mixed, 60) + "." + s, []string{s}
	}),
	form("jwt", func(r *random) (string, []string) {
		s := jwt(r)
		return s, []string{s[len(s)-43:]}
	}),
	plain("age", "AGE-SECRET-KEY-1", bech32, 58),
	form("bcrypt", func(r *random) (string, []string) {
		s := r.of(mixed+"./", 53)
		return "$2b$12$" + s, []string{s}
	}),
}

// jwt is a signed token with claims.
func jwt(r *random) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc(fmt.Appendf(nil, `{"sub":"%s","iat":17%s}`, r.of(digits, 10), r.of(digits, 8))) + "." + r.in(word, 43)
}

func tailscale(kind string) func(*random) (string, []string) {
	return func(r *random) (string, []string) {
		s := r.of(mixed, 32)
		return "tskey-" + kind + "-k" + r.of(mixed, 11) + "CNTRL-" + s, []string{s}
	}
}
