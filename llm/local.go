package llm

import (
	"fmt"
	"net/url"
	"strings"
)

// localPrograms are the local servers by the port that they take by default,
// with the command that starts each.
var localPrograms = map[string]struct{ name, start string }{
	"11434": {"ollama", "ollama serve"},
	"8080":  {"llama.cpp's server", "llama-server -m MODEL.gguf"},
	"8000":  {"vllm", "vllm serve MODEL"},
	"1234":  {"LM Studio's server", "lms server start"},
}

const ollamaPort = "11434"

func portOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Port()
}

func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isOllama goes by the port and by what the server says: nothing else tells.
func (c *Client) isOllama(message string) bool {
	return portOf(c.server) == ollamaPort || strings.Contains(message, "try pulling it") || strings.Contains(message, "num_ctx")
}

// localHint is for a refused connection to this machine.
func (c *Client) localHint() string {
	if p, ok := localPrograms[portOf(c.server)]; ok {
		return fmt.Sprintf("is %s running? start it: %s", p.name, p.start)
	}
	return "is ollama (or llama.cpp's or vllm's server) running, and on this port? (OPENAI_BASE_URL)"
}

func (c *Client) modelHint(message string) string {
	if c.isOllama(message) {
		return fmt.Sprintf("get it: ollama pull %s; or name one of those that ollama list shows (TRACERAG_MODEL)", c.cfg.Model)
	}
	if c.cfg.Azure {
		return "for Azure the model is the deployment's name, and a new deployment takes some minutes (AZURE_OPENAI_DEPLOYMENT)"
	}
	return fmt.Sprintf("name a model that this server has (TRACERAG_MODEL); %s/models lists them", c.cfg.BaseURL)
}

// urlHint knows the base URLs that are most often written wrong.
func (x *exchange) urlHint() string {
	c := x.client
	host := hostOf(c.server)
	switch {
	case portOf(c.server) == ollamaPort && !strings.HasSuffix(c.cfg.BaseURL, "/v1"):
		return "Ollama's endpoint is " + c.server + "/v1 (OPENAI_BASE_URL)"
	case host == "generativelanguage.googleapis.com" && !strings.HasSuffix(c.cfg.BaseURL, "/openai"):
		return "Gemini's endpoint is " + c.server + "/v1beta/openai (OPENAI_BASE_URL)"
	case c.cfg.Azure:
		return "Azure's endpoint is https://NAME.openai.azure.com, without a path (AZURE_OPENAI_ENDPOINT)"
	case !strings.HasSuffix(c.cfg.BaseURL, "/v1"):
		return "most base URLs end in /v1: try " + c.cfg.BaseURL + "/v1 (OPENAI_BASE_URL)"
	}
	return ""
}
