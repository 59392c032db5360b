package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// bounded keeps all errors within the budget of an answer, whoever makes them: a tool, the
// check of its arguments, a resource. They quote names that an agent has made up or copied, and
// what the files of somebody else say.
func (s *server) bounded(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		limit := defaultTokens
		if call, ok := req.(*sdk.CallToolRequest); ok {
			var b budget
			if json.Unmarshal(call.Params.Arguments, &b) == nil && b.MaxTokens >= leastTokens {
				limit = min(limit, b.MaxTokens)
			}
		}
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			err = &jsonrpc.Error{Code: wire.Code, Message: s.brief(wire.Message, limit), Data: wire.Data}
		} else if err != nil {
			if text := s.brief(err.Error(), limit); text != err.Error() {
				err = errors.New(text)
			}
		}
		if r, ok := res.(*sdk.CallToolResult); ok && r != nil && r.IsError {
			for _, c := range r.Content {
				if t, ok := c.(*sdk.TextContent); ok {
					t.Text = s.brief(t.Text, limit)
				}
			}
		}
		return res, err
	}
}

// Of an echo its beginning tells what is meant. What is behind it says what to do.
const (
	mostEcho  = 300
	shownEcho = 200
)

var echo = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s"]+`)

func (s *server) brief(text string, limit int) string {
	text = echo.ReplaceAllStringFunc(text, func(quoted string) string {
		if len(quoted) <= mostEcho {
			return quoted
		}
		short := cutText(quoted, shownEcho)
		if strings.HasPrefix(quoted, `"`) {
			short += `"`
		}
		return short
	})
	return s.clip(limit, text)
}
