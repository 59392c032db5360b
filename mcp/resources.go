package mcp

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Clients put resources and prompts into menus, for the user to choose from: a trace is
// attached as its call tree, a prompt sends the agent on its way.

const (
	treeURI  = "tracerag://trace/"
	treePart = "/tree"
	// listed is how many traces are offered as resources: a menu of more is none.
	listed = 20
)

func (s *server) addResources(to *sdk.Server) {
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "call tree", Title: "Call tree of a trace", URITemplate: treeURI + "{+id}" + treePart, MIMEType: "text/plain",
		Description: "The call tree of a recorded run, upper levels first, in 8000 tokens. id is a trace's id, @last or @prev.",
	}, s.readTree)
	// The store changes under the server, so that its list is made when it is asked for.
	to.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "resources/list" {
				return s.listResources()
			}
			return next(ctx, method, req)
		}
	})
}

func (s *server) listResources() (*sdk.ListResourcesResult, error) {
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	_, traces, err := s.Backend.List()
	if err != nil {
		return nil, err
	}
	for t := range traces {
		if len(out.Resources) == listed {
			break
		}
		if t.Error != "" {
			continue
		}
		out.Resources = append(out.Resources, &sdk.Resource{
			URI: treeURI + t.ID + treePart, Name: t.ID, Title: s.Mask("call tree of " + cutText(t.Title, 80)), MIMEType: "text/plain",
			Description: fmt.Sprintf("%d calls of %d functions, %s, recorded %s UTC", t.Calls, t.Functions, t.Exit, t.Saved.UTC().Format("2006-01-02 15:04")),
		})
	}
	return out, nil
}

// parseTreeURI returns the trace that a resource is of.
func parseTreeURI(uri string) (id string, ok bool) {
	id, ok = strings.CutPrefix(uri, treeURI)
	if !ok {
		return "", false
	}
	if id, ok = strings.CutSuffix(id, treePart); !ok {
		return "", false
	}
	// Some clients escape the "@" of @last.
	id, err := url.PathUnescape(id)
	return id, err == nil && id != "" && !strings.ContainsAny(id, `/\`)
}

func (s *server) readTree(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, ok := parseTreeURI(req.Params.URI)
	if !ok {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	r, err := s.openRun(false, id)
	if err != nil {
		return nil, fmt.Errorf("%s", s.Mask(err.Error()))
	}
	text, err := s.treeText(r, "", 0, promptTokens)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: s.Mask(text)}}}, nil
}

func (s *server) addPrompts(to *sdk.Server) {
	trace := &sdk.PromptArgument{Name: "trace", Description: "id of a trace; default @last"}
	to.AddPrompt(&sdk.Prompt{
		Name: "explain_run", Title: "Explain a recorded run", Description: "How the program does what it did in a recorded run, by the functions that were called.",
		Arguments: []*sdk.PromptArgument{{Name: "question", Description: "what to explain; default: the whole run"}, trace},
	}, s.explainRun)
	to.AddPrompt(&sdk.Prompt{
		Name: "compare_runs", Title: "Explain why two runs differ", Description: "Where two recorded runs part, and why.",
		Arguments: []*sdk.PromptArgument{{Name: "a", Description: "the first trace; default @prev"}, {Name: "b", Description: "the second; default @last"}},
	}, s.compareRuns)
}

func (s *server) explainRun(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	trace, question := req.Params.Arguments["trace"], req.Params.Arguments["question"]
	if trace == "" {
		trace = "@last"
	}
	if question == "" {
		question = "What does the program do in this run, and which functions decide it?"
	}
	return s.userPrompt("Explain a recorded run", fmt.Sprintf(`%s

Answer from what ran, in trace %s, by the tracerag tools:
1. rank with the question: the functions that it is about, with their handles.
2. source of the best of them; its "calls" and "called by" lead on.
3. call_tree focused on a handle, where the order of calls matters.
Name the functions and file:line positions that the answer rests on. Do not name code that you have not been shown.`, question, trace)), nil
}

func (s *server) compareRuns(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	a, b := req.Params.Arguments["a"], req.Params.Arguments["b"]
	if a == "" {
		a = "@prev"
	}
	if b == "" {
		b = "@last"
	}
	return s.userPrompt("Explain why two runs differ", fmt.Sprintf(`Why do the recorded runs %s and %s differ?

1. compare a=%[1]s b=%[2]s with the tracerag tools: where they first part, and what only one of them called.
2. source of the function above that place, in both traces: what decides it?
3. values of that function, if the traces have them.
Name the functions and file:line positions that the answer rests on.`, a, b)), nil
}

func (s *server) userPrompt(about, text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Description: about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: s.Mask(text)}}}}
}

// complete completes the names of traces, in the arguments of prompts and in the
// template of resources.
func (s *server) complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	switch req.Params.Argument.Name {
	case "trace", "a", "b", "id":
	default:
		return out, nil
	}
	_, traces, err := s.Backend.List()
	if err != nil {
		return nil, err
	}
	add := func(name string) {
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			out.Completion.Values = append(out.Completion.Values, name)
		}
	}
	add("@last")
	add("@prev")
	for t := range traces {
		if len(out.Completion.Values) >= listed {
			break
		}
		add(t.ID)
	}
	return out, nil
}
