package main

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tracerag/llm"
)

// modelFlags choose the endpoint.
type modelFlags struct {
	baseURL     string
	timeout     time.Duration
	maxTokens   int
	temperature *float64
	maxAnswer   byteSize
	retries     int
}

func (m *modelFlags) add(f *pflag.FlagSet) {
	f.StringVar(&m.baseURL, "base-url", "", "the endpoint's `URL` (default: $OPENAI_BASE_URL, or OpenAI's)")
	f.DurationVar(&m.timeout, "timeout", 0, "give up after this `TIME` of silence from the model (default 10m)")
	f.IntVar(&m.maxTokens, "max-tokens", 0, "let the answer have at most this many `TOKENS`")
	f.Var(&m.maxAnswer, "max-answer", "cut an answer off after this `SIZE` of text (default 1MiB; with --max-tokens at\nmost 64 bytes a token)")
	f.Func("temperature", "sampling temperature, a `NUMBER` from 0 to 2 (default: the model's own)", func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errors.New("not a number")
		}
		m.temperature = &n
		return nil
	})
	f.IntVar(&m.retries, "retries", 0, "try a busy or failing endpoint `N` times again (default 4; -1: never)")
}

func (a *app) modelConfig(m *modelFlags, model string) (llm.Config, error) {
	c := llm.Config{Model: model, BaseURL: m.baseURL, Timeout: m.timeout, MaxTokens: m.maxTokens, MaxRetries: m.retries, Temperature: m.temperature,
		MaxAnswer: int(min(m.maxAnswer, math.MaxInt32)), UserAgent: userAgent()}
	c.OnRetry = func(attempt int, wait time.Duration, reason string) {
		a.note("%s: trying again in %s (attempt %d failed)", reason, wait.Round(100*time.Millisecond), attempt)
	}
	return llm.FromEnv(a.getenv, c)
}

// server is the endpoint as it is shown: without a query, which may hold a key.
func server(c llm.Config) string {
	base, _, _ := strings.Cut(cmp.Or(c.BaseURL, llm.DefaultBaseURL), "?")
	return base
}
