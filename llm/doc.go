// Package llm asks a question of a language model behind an OpenAI-compatible
// chat endpoint and streams the answer.
//
// # One protocol, many servers
//
// OpenAI's "chat completions" request is spoken, with dialects, by Azure
// OpenAI, by Gemini's and Anthropic's compatible endpoints, and by the local
// servers Ollama, llama.cpp and vLLM. A [Config] names the server by its base
// URL and the model by the name the server knows; everything else has a
// default. [FromEnv] reads the variables that other tools use already.
//
// The dialects differ in what they refuse. Newer OpenAI models want
// max_completion_tokens for max_tokens and take no temperature, some servers
// do not know stream_options, some chat templates have no system role, some
// accounts may not stream. What the model's name tells is handled before
// asking; the rest is learnt from the refusal: the parameter is changed and the
// request sent again, once per parameter, and [Answer.Notes] says so.
//
// # What can go wrong
//
// Every failure of [Client.Ask] is an [*Error] whose Kind says what happened,
// whose text names the server, the model and the server's own words, and whose
// [Hint] tells a way out.
//
//   - Busy or broken servers (429, 408, 500, 502, 503, 504, 529), connections that fail
//     before an answer, and time-outs are tried again: see [Config.MaxRetries].
//   - Nothing is tried again once a piece of the answer was delivered: the reader would
//     see it twice. What came is kept, and marked [Answer.Incomplete].
//   - A refusal (wrong key, unknown model, a prompt too long) is final at once.
//
// A stream has ended well when the server says so, by a finish reason or by the
// closing [DONE]. A connection that merely closes has dropped the answer,
// however politely it closes.
//
// # The key
//
// An API key never leaves the package except in the header of a request to the
// configured server: it is cut out of every error text (servers and proxies do
// echo it), it prints as "[redacted]" in a [Config] however that is formatted,
// it is not sent over plain HTTP to another machine, and redirects to another
// origin are refused, which keeps the prompt (somebody's source code) where it
// was meant to go too.
//
// # What is ours and what is go-openai's
//
// github.com/sashabaranov/go-openai builds the request: its URL (Azure's differs),
// its headers, its JSON. The response is read here. That library's stream reader
// answers io.EOF both for a finished stream and for a connection that was closed
// half-way, loses a last line without a newline and the error behind a comment
// line, and it has no retries and hides the headers of an error.
//
// # Embeddings
//
// Client.Embed asks the same server's endpoint for embeddings, for the vectors of texts,
// under the same rules. Its Config names the model that makes them.
//
// # A new vendor
//
// A vendor with an OpenAI-compatible endpoint needs no code: a base URL and a key. Its own
// variables are read in env.go, its way to refuse a prompt that is too long is a pattern
// in overflow.go, a parameter that it refuses is a row of the adaptations in dialect.go,
// its prices are in price.go. Its models' context sizes are in prompt/tokens/models.txt.
//
// A vendor that speaks another protocol has no place in this package: all of it is about
// the one protocol. It would be a package beside this one with the same Ask, Answer and
// Error, and answer.Asker and eval/trial, which make the clients, would choose.
package llm
