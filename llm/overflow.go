package llm

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The servers agree neither on the code nor on the words for a prompt that is
// too long, so both are looked for. The wordings were gathered from stored copies
// of public issue threads, documentation and source code. None was provoked on a
// live server, which version of a server says what is not known, and the list
// cannot be complete: a refusal that it misses is shown as it came, without the
// sizes and the hint.

var overflowCode = lazily(`(?i)^(?:context_length_exceeded|exceed_context_size_error|model_context_window_exceeded|string_above_max_length)$`)

// overflowSizes find the sizes of the prompt (p) and of what fits (l). The names
// beside them are those under which the wordings were found; others may use them,
// too.
var overflowSizes = compileAll(
	// OpenAI, Azure, vLLM, DeepSeek, OpenRouter
	`maximum context length is (?:only )?(?P<l>N) tokens?.{0,80}?(?:messages resulted in|requested(?: about)?|prompt contains(?: at least)?|request has|messages have) (?P<p>N)`,
	`maximum context length is (?:only )?(?P<l>N)`,
	`configured limit of (?P<l>N) tokens.{0,40}?resulted in (?P<p>N)`,
	`\(length (?P<p>N)\) is longer than the maximum model length of (?P<l>N)`, // vLLM
	`input prompt \((?P<p>N) tokens\) is too long and exceeds.{0,20}limit of (?P<l>N)`,
	`\((?P<p>N) tokens\) exceeds the available context size \((?P<l>N) tokens\)`,              // llama.cpp
	`exceeds the available context size`,                                                      // llama.cpp, older
	`input is too large to process`,                                                           // llama.cpp, batch size
	`exceeded max(?:imum)? context length by N tokens`,                                        // Ollama
	`(?:prompt|input)(?: length)? (?:is )?(?:too long|exceeds|exceeded).{0,40}context`,        // Ollama
	`input token count \((?P<p>N)\) exceeds the maximum number of tokens[^0-9]{0,20}(?P<l>N)`, // Gemini
	`input token count.{0,40}exceeds the maximum`,
	`prompt is too long: (?P<p>N) tokens > (?P<l>N)`,                                               // Anthropic
	`exceed context limit: (?P<p>N) \+ N > (?P<l>N)`,                                               // Anthropic
	`prompt contains (?P<p>N) tokens.{0,60}too large for model with (?P<l>N)`,                      // Mistral
	`maximum prompt length is (?P<l>N).{0,40}contains (?P<p>N)`,                                    // xAI
	`must have less than (?P<l>N) tokens. given: (?P<p>N)`,                                         // TGI
	`(?:input|prompt) \((?P<p>N) tokens\) is longer than the model's context length \((?P<l>N)`,    // SGLang
	`number of tokens to keep|trying to keep the first (?P<p>N) tokens.{0,90}only (?P<l>N) tokens`, // LM Studio
	`input is too long for requested model`,                                                        // Bedrock
	`maximum context length|context (?:length|window|size) (?:is |was |has been )?exceeded|exceeds? the (?:model's )?(?:context|maximum) (?:length|window)|prompt is too long`,
)

// requestLimit is a prompt that is larger than the account may send in one
// minute: a 429 that no waiting cures.
var requestLimit = compileAll(
	`request too large for.{0,200}?limit:? (?P<l>N),? requested:? (?P<p>N)`,
	`request too large for`,
)

// compileAll compiles the patterns when the first refusal is looked at: it takes 10 ms,
// which every command would wait for.
func compileAll(patterns ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() (out []*regexp.Regexp) {
		for _, p := range patterns {
			out = append(out, regexp.MustCompile(`(?i)`+strings.ReplaceAll(p, "N", `[0-9][0-9,]*`)))
		}
		return out
	})
}

// lazily compiles a pattern when it is needed, likewise.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// matchSizes gives the sizes that the first matching pattern finds, 0 where it
// finds none.
func matchSizes(patterns []*regexp.Regexp, message string) (prompt, limit int, ok bool) {
	for _, p := range patterns {
		m := p.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		for i, name := range p.SubexpNames() {
			n, err := strconv.Atoi(strings.ReplaceAll(m[i], ",", ""))
			if err != nil {
				continue
			}
			switch name {
			case "p":
				prompt = n
			case "l":
				limit = n
			}
		}
		return prompt, limit, true
	}
	return 0, 0, false
}
