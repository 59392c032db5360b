package llm

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestNewRefuses(t *testing.T) {
	nan, hot := math.NaN(), 3.0
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"no model":          {Config{APIKey: testKey}, "no model"},
		"no key":            {Config{Model: "m"}, "no API key for api.openai.com"},
		"no key, elsewhere": {Config{Model: "m", BaseURL: "https://api.example.com/v1"}, "no API key for api.example.com"},
		"no scheme":         {Config{Model: "m", BaseURL: "localhost:11434/v1"}, "http://"},
		"no host":           {Config{Model: "m", BaseURL: "http:///v1"}, "host"},
		"other scheme":      {Config{Model: "m", BaseURL: "ftp://localhost/v1"}, "http://"},
		"malformed":         {Config{Model: "m", BaseURL: "http://[" + testKey}, "malformed"},
		"key in the URL":    {Config{Model: "m", BaseURL: "https://example.com/v1?key=" + testKey}, "more than"},
		"user in the URL":   {Config{Model: "m", BaseURL: "https://me:" + testKey + "@example.com/v1"}, "more than"},
		"key of two lines":  {Config{Model: "m", APIKey: "sk-1\nsk-2"}, "character"},
		"key with quotes":   {Config{Model: "m", APIKey: "“" + testKey + "”"}, "character"},
		"NaN":               {Config{Model: "m", APIKey: testKey, Temperature: &nan}, "temperature"},
		"too warm":          {Config{Model: "m", APIKey: testKey, Temperature: &hot}, "temperature"},
		"negative limit":    {Config{Model: "m", APIKey: testKey, MaxTokens: -1}, "limit"},
	} {
		_, err := New(test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q in it", name, err, test.want)
			continue
		}
		checkNoKey(t, testKey, err)
		if Hint(err) == "" {
			t.Errorf("%s: no hint", name)
		}
		if notConfigured := strings.HasPrefix(name, "no model") || strings.HasPrefix(name, "no key"); errors.Is(err, ErrNotConfigured) != notConfigured {
			t.Errorf("%s: ErrNotConfigured %v", name, !notConfigured)
		}
	}
}

func TestBaseURLsAreUnderstood(t *testing.T) {
	for in, want := range map[string]string{
		"":                             DefaultBaseURL,
		"https://api.example.com/v1/":  "https://api.example.com/v1",
		" http://localhost:11434/v1\n": "http://localhost:11434/v1",
		"http://localhost:8000/v1/chat/completions":                                               "http://localhost:8000/v1",
		"https://x.openai.azure.com/":                                                             "https://x.openai.azure.com",
		"https://x.openai.azure.com/openai":                                                       "https://x.openai.azure.com",
		"https://x.openai.azure.com/openai/v1/":                                                   "https://x.openai.azure.com/openai/v1",
		"https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-02-01": "https://x.openai.azure.com",
	} {
		got, err := Config{Model: "m", APIKey: testKey, BaseURL: in}.settle()
		if err != nil || got.BaseURL != want {
			t.Errorf("%q becomes %q, %v; want %q", in, got.BaseURL, err, want)
		}
		if azure := strings.HasSuffix(want, ".azure.com"); got.Azure != azure || azure != (got.APIVersion != "") {
			t.Errorf("%q: azure %v, version %q", in, got.Azure, got.APIVersion)
		}
	}
}

func TestKeylessServersArePrivate(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "10.1.2.3": true, "172.20.0.2": true,
		"192.168.0.9": true, "100.101.102.103": true, "fd00::1": true, "fe80::1": true, "gpu-box": true, "nas.local": true, "host.docker.internal": true,
		"8.8.8.8": false, "172.32.0.1": false, "2001:4860::1": false, "api.openai.com": false, "localhost.example.com": false, "10.1.2.3.nip.io": false,
	} {
		if got := isPrivate(host); got != want {
			t.Errorf("%s: private %v", host, got)
		}
	}
}

func TestFromEnv(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // past the umask
			t.Fatal(err)
		}
		return path
	}
	private := file("key", "\ufefffile-key-123\r\n", 0o600)
	type env map[string]string
	for _, test := range []struct {
		name  string
		env   env
		flags Config
		want  Config
		fails string // in the error
	}{
		{"OpenAI", env{"OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "gpt"}, Config{}, Config{Model: "gpt", APIKey: "openai-key"}, ""},
		{"ours comes before OpenAI's", env{"OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "gpt", "TRACERAG_MODEL": "mine"}, Config{}, Config{Model: "mine", APIKey: "openai-key"}, ""},
		{"flags win", env{"OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "gpt", "OPENAI_BASE_URL": "https://a.example/v1", "TRACERAG_API_KEY_FILE": private},
			Config{Model: "m", BaseURL: "https://b.example/v1", APIKey: "flag-key", Timeout: time.Second}, Config{Model: "m", BaseURL: "https://b.example/v1", APIKey: "flag-key", Timeout: time.Second}, ""},
		{"Ollama needs no key", env{"OPENAI_BASE_URL": "http://localhost:11434/v1", "TRACERAG_MODEL": "qwen"}, Config{}, Config{Model: "qwen", BaseURL: "http://localhost:11434/v1"}, ""},
		{"the key file comes before the key", env{"OPENAI_API_KEY": "openai-key", "TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": private}, Config{}, Config{Model: "m", APIKey: "file-key-123"}, ""},
		{"a vendor's own key at its host", env{"OPENAI_API_KEY": "openai-key", "ANTHROPIC_API_KEY": "ant-key", "OPENAI_BASE_URL": "https://api.anthropic.com/v1", "TRACERAG_MODEL": "m"}, Config{},
			Config{Model: "m", BaseURL: "https://api.anthropic.com/v1", APIKey: "ant-key"}, ""},
		{"and nowhere else", env{"ANTHROPIC_API_KEY": "ant-key", "OPENAI_BASE_URL": "https://api.anthropic.com.evil.example/v1", "TRACERAG_MODEL": "m"}, Config{},
			Config{Model: "m", BaseURL: "https://api.anthropic.com.evil.example/v1"}, "no API key"},
		{"Azure", env{"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "AZURE_OPENAI_API_KEY": "az-key", "AZURE_OPENAI_DEPLOYMENT": "d", "OPENAI_API_VERSION": "v", "OPENAI_MODEL": "gpt"}, Config{},
			Config{Model: "d", BaseURL: "https://x.openai.azure.com", APIKey: "az-key", Azure: true, APIVersion: "v"}, ""},
		{"Azure's variables beside OpenAI's: OpenAI", env{"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "AZURE_OPENAI_API_KEY": "az-key", "OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "gpt"}, Config{},
			Config{Model: "gpt", APIKey: "openai-key"}, ""},
		{"unless Azure is asked for", env{"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "AZURE_OPENAI_API_KEY": "az-key", "OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "gpt"}, Config{Azure: true},
			Config{Model: "gpt", BaseURL: "https://x.openai.azure.com", APIKey: "az-key", Azure: true}, ""},
		{"plain http allowed", env{"OPENAI_BASE_URL": "http://192.168.1.2/v1", "OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "m", "TRACERAG_ALLOW_PLAIN_HTTP": "1"}, Config{},
			Config{Model: "m", BaseURL: "http://192.168.1.2/v1", APIKey: "openai-key", AllowPlainHTTP: true}, ""},
		{"plain http not allowed", env{"OPENAI_BASE_URL": "http://192.168.1.2/v1", "OPENAI_API_KEY": "openai-key", "OPENAI_MODEL": "m"}, Config{},
			Config{Model: "m", BaseURL: "http://192.168.1.2/v1", APIKey: "openai-key"}, "plain http"},
		{"nothing", nil, Config{}, Config{}, "no model"},
		{"no key", env{"OPENAI_MODEL": "gpt"}, Config{}, Config{Model: "gpt"}, "no API key"},
		{"key file missing", env{"TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": filepath.Join(dir, "none")}, Config{}, Config{Model: "m"}, "cannot be read"},
		{"key file empty", env{"TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": file("empty", "\n", 0o600)}, Config{}, Config{Model: "m"}, "is empty"},
		{"key file of lines", env{"TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": file("lines", "KEY=a\nb\n", 0o600)}, Config{}, Config{Model: "m"}, "more than a key"},
		{"key file too large", env{"TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": file("large", strings.Repeat("x", maxKeyFile+1), 0o600)}, Config{}, Config{Model: "m"}, "more than a key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := FromEnv(func(name string) string { return test.env[name] }, test.flags)
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Fatalf("error %v, want %q in it", err, test.fails)
			}
			if err != nil && Hint(err) == "" {
				t.Errorf("no hint for %v", err)
			}
			// The key by name: printing the struct would not show it.
			if got.APIKey != test.want.APIKey {
				t.Errorf("key %q, want %q", got.APIKey, test.want.APIKey)
			}
			if got.Model != test.want.Model || got.BaseURL != test.want.BaseURL || got.Azure != test.want.Azure || got.APIVersion != test.want.APIVersion || got.AllowPlainHTTP != test.want.AllowPlainHTTP || got.Timeout != test.want.Timeout {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if runtime.GOOS != "windows" {
		for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o644: false, 0o640: false, 0o602: false} {
			path := file("mode", "file-key-123", 0o600)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := FromEnv(func(name string) string {
				return env{"TRACERAG_MODEL": "m", "TRACERAG_API_KEY_FILE": path}[name]
			}, Config{})
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "chmod 600 "+path) {
				t.Errorf("mode %o: %v", mode, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNotConfiguredShowsTheWay(t *testing.T) {
	_, err := FromEnv(func(string) string { return "" }, Config{})
	for _, want := range []string{"OPENAI_API_KEY", "Ollama", "Gemini", "Anthropic", "TRACERAG_API_KEY_FILE", "TRACERAG_MODEL"} {
		if !strings.Contains(Hint(err), want) {
			t.Errorf("the hint does not name %s:\n%s", want, Hint(err))
		}
	}
}
