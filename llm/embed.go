package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/sashabaranov/go-openai"
)

// Embeddings are the vectors of texts.
type Embeddings struct {
	Vectors [][]float32 // one for each text, in their order, all of the same length
	Model   string      // as the server names it; the configured name when it does not
	Usage   *Usage      // nil when the server sent none
}

// Embed returns a vector for each of the texts, from the endpoint /embeddings. They go
// out in one request: how many a server takes at once is the caller's to know. Failures
// that may pass are tried again as those of [Client.Ask]. Every error is an [*Error].
//
// Vectors that no server may send (too few, of other lengths, none, with parts that are no
// numbers) are refused: they would be kept, and compared with others for years.
func (c *Client) Embed(ctx context.Context, texts []string) (Embeddings, error) {
	for i, t := range texts {
		if t == "" {
			return Embeddings{}, c.name(&Error{Kind: KindRequest, what: fmt.Sprintf("text %d is empty", i+1)}, 0)
		}
	}
	if len(texts) == 0 {
		return Embeddings{Model: c.cfg.Model}, nil
	}
	var out Embeddings
	fail := c.persist(ctx, func() (fail *Error) {
		out, fail = c.embed(ctx, texts)
		return fail
	}, func(*Error) bool { return false })
	if fail != nil {
		return Embeddings{}, fail
	}
	return out, nil
}

func (c *Client) embed(ctx context.Context, texts []string) (Embeddings, *Error) {
	x := c.newExchange(ctx, false)
	defer x.close()
	fail := x.send(func(ctx context.Context, api *openai.Client) error {
		_, err := api.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(c.cfg.Model)})
		return err
	})
	if fail == nil {
		fail = x.refusal()
	}
	if fail != nil {
		return Embeddings{}, fail
	}
	stop := x.await()
	body, err := io.ReadAll(x.body)
	stop()
	if err != nil {
		return Embeddings{}, x.streamEnd(err, Answer{})
	}
	return x.vectors(body, len(texts))
}

// vectors reads a response with as many vectors as there were texts.
func (x *exchange) vectors(body []byte, texts int) (Embeddings, *Error) {
	c := x.client
	var in struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Embeddings{}, x.undecodable(body)
	}
	if isSet(in.Error) {
		return Embeddings{}, x.serverSays(parseSaid(body), 0)
	}
	out := Embeddings{Vectors: make([][]float32, texts), Model: c.cfg.Model, Usage: parseUsage(in.Usage)}
	if in.Model != "" {
		out.Model = c.redact.clean(in.Model)
	}
	bad := func(format string, args ...any) (Embeddings, *Error) {
		return Embeddings{}, &Error{Kind: KindProtocol, what: "the server's vectors can't be used: " + fmt.Sprintf(format, args...),
			hint: "name a model that makes embeddings; chat models make none"}
	}
	if len(in.Data) != texts {
		return bad("%d for %d texts", len(in.Data), texts)
	}
	for _, d := range in.Data {
		switch {
		case d.Index < 0 || d.Index >= texts || out.Vectors[d.Index] != nil:
			return bad("one has the index %d of %d texts", d.Index, texts)
		case len(d.Embedding) == 0 || len(d.Embedding) != len(in.Data[0].Embedding):
			return bad("one has %d numbers, another %d", len(d.Embedding), len(in.Data[0].Embedding))
		}
		length := 0.0
		for _, v := range d.Embedding {
			length += float64(v) * float64(v)
		}
		if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
			return bad("one has no direction")
		}
		out.Vectors[d.Index] = d.Embedding
	}
	return out, nil
}
