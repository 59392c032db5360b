package llm

import (
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// vendorKeys are the variables that vendors' own tools read, used for the
// vendor's own host only: they come before OPENAI_API_KEY there, so that a key
// goes where it belongs.
var vendorKeys = map[string][]string{
	"api.anthropic.com":                 {"ANTHROPIC_API_KEY"},
	"generativelanguage.googleapis.com": {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	"openrouter.ai":                     {"OPENROUTER_API_KEY"},
	"api.deepseek.com":                  {"DEEPSEEK_API_KEY"},
	"api.mistral.ai":                    {"MISTRAL_API_KEY"},
	"api.groq.com":                      {"GROQ_API_KEY"},
}

// FromEnv completes flags, whose set fields win, from these variables:
//
//	TRACERAG_MODEL, OPENAI_MODEL     the model
//	OPENAI_BASE_URL                  the server
//	TRACERAG_API_KEY_FILE            a file that holds the key, readable by its owner alone
//	OPENAI_API_KEY                   the key; at the hosts of Anthropic, Gemini, OpenRouter,
//	                                 DeepSeek, Mistral and Groq their own variable comes first
//	TRACERAG_ALLOW_PLAIN_HTTP        1: see Config.AllowPlainHTTP
//	AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY, AZURE_OPENAI_DEPLOYMENT,
//	AZURE_OPENAI_API_VERSION, OPENAI_API_VERSION
//
// The Azure variables count when flags.Azure is set or the base URL is Azure's,
// or when they name an endpoint and a key while neither OPENAI_BASE_URL nor
// OPENAI_API_KEY is set.
//
// The error wraps [ErrNotConfigured] when no model is named, or no key for a
// server that needs one. It comes beside the configuration as far as it is known,
// for a caller that shows it. Nothing is sent, and no host name is looked up.
func FromEnv(getenv func(string) string, flags Config) (Config, error) {
	c := flags
	first := func(names ...string) string {
		for _, name := range names {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v
			}
		}
		return ""
	}
	if c.BaseURL == "" {
		c.BaseURL = first("OPENAI_BASE_URL")
	}
	if endpoint := first("AZURE_OPENAI_ENDPOINT"); c.BaseURL == "" && endpoint != "" {
		c.Azure = c.Azure || c.APIKey == "" && first("OPENAI_API_KEY") == "" && first("AZURE_OPENAI_API_KEY", "TRACERAG_API_KEY_FILE") != ""
		if c.Azure {
			c.BaseURL = endpoint
		}
	}
	host := ""
	if u, err := parseBaseURL(c.BaseURL); err == nil {
		host = u.Hostname()
	}
	azure := c.Azure || isAzureHost(host)
	models := []string{"TRACERAG_MODEL", "OPENAI_MODEL"}
	keys := append(vendorKeys[host], "OPENAI_API_KEY")
	if azure {
		models = []string{"TRACERAG_MODEL", "AZURE_OPENAI_DEPLOYMENT", "OPENAI_MODEL"}
		keys = []string{"AZURE_OPENAI_API_KEY", "OPENAI_API_KEY"}
		if c.APIVersion == "" {
			c.APIVersion = first("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
		}
	}
	if c.Model == "" {
		c.Model = first(models...)
	}
	if path := first("TRACERAG_API_KEY_FILE"); c.APIKey == "" && path != "" {
		key, err := readKeyFile(path)
		if err != nil {
			return c, err
		}
		c.APIKey = key
	}
	if c.APIKey == "" {
		c.APIKey = first(keys...)
	}
	if on, err := strconv.ParseBool(first("TRACERAG_ALLOW_PLAIN_HTTP")); err == nil && on {
		c.AllowPlainHTTP = true
	}
	_, err := c.settle()
	return c, err
}

// maxKeyFile is far above any key: a larger file is the wrong file.
const maxKeyFile = 16 << 10

// piped are the keys that were read from pipes, by path. A pipe gives its key once, and
// it is needed twice: for the request, and to be masked.
var piped sync.Map

// readKeyFile reads a key from a private file. A pipe
// (<(pass show openai)) is as good.
func readKeyFile(path string) (string, error) {
	if key, ok := piped.Load(path); ok {
		return key.(string), nil
	}
	const help = "put the key alone into the file that TRACERAG_API_KEY_FILE names"
	f, err := openKeyFile(path)
	if err != nil {
		return "", &configError{"the key file cannot be read: " + err.Error(), help}
	}
	defer f.Close()
	info, err := f.Stat() // of what was opened, not of the name
	if err != nil {
		return "", &configError{"the key file cannot be read: " + err.Error(), help}
	}
	if err := checkPrivate(path, info.Mode()); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", &configError{"the key file cannot be read: " + err.Error(), help}
	}
	key := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	switch {
	case key == "":
		return "", &configError{"the key file " + path + " is empty", help}
	case len(data) > maxKeyFile, strings.ContainsAny(key, "\r\n"):
		return "", &configError{"the key file " + path + " holds more than a key", help}
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		piped.Store(path, key)
	}
	return key, nil
}
