package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/llm"
	"tracerag/locate"
)

// embedder makes vectors by a server, and keeps them in a file: a measurement asks for some
// thousand texts, most of them once for each of several commits.
type embedder struct {
	client *llm.Client
	file   *os.File
	mu     sync.Mutex
	known  map[[32]byte][]float32
}

func newEmbedder(url, model, file string) (*embedder, error) {
	client, err := llm.New(llm.Config{BaseURL: url, Model: model})
	if err != nil {
		return nil, err
	}
	e := &embedder{client: client, known: map[[32]byte][]float32{}}
	if e.file, err = os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	for {
		var key [32]byte
		var n uint32
		if _, err := io.ReadFull(e.file, key[:]); err != nil {
			return e, nil
		}
		if binary.Read(e.file, binary.LittleEndian, &n) != nil {
			return e, nil
		}
		v := make([]float32, n)
		if binary.Read(e.file, binary.LittleEndian, v) != nil {
			return e, nil
		}
		e.known[key] = v
	}
}

func (e *embedder) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	asked := map[string]bool{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range texts {
		if e.known[sha256.Sum256([]byte(t))] == nil && !asked[t] {
			asked[t] = true
			missing = append(missing, t)
		}
	}
	for batch := range slices.Chunk(missing, 64) {
		got, err := e.client.Embed(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, v := range got.Vectors {
			key := sha256.Sum256([]byte(batch[i]))
			e.known[key] = v
			e.file.Write(key[:])
			binary.Write(e.file, binary.LittleEndian, uint32(len(v)))
			if err := binary.Write(e.file, binary.LittleEndian, v); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(os.Stderr, "\r%d vectors ", len(e.known))
	}
	for i, t := range texts {
		out[i] = e.known[sha256.Sum256([]byte(t))]
	}
	return out, nil
}

// nearest looks at all functions of a case's repository.
func (e *embedder) nearest(c *loaded) locate.Nearest {
	return func(ctx context.Context, text string, _ []int64, limit int) ([]knowledge.Near, error) {
		var near []knowledge.Near
		texts := []string{text}
		c.repo.Functions(func(d *knowledge.Decl, doc, body string) {
			near = append(near, knowledge.Near{Decl: *d})
			texts = append(texts, index.EmbedText(d.Name, doc, body))
		})
		vectors, err := e.vectors(ctx, texts)
		if err != nil {
			return nil, err
		}
		for i := range near {
			near[i].Cosine = cosine(vectors[0], vectors[i+1])
		}
		slices.SortStableFunc(near, func(a, b knowledge.Near) int { return cmp.Compare(b.Cosine, a.Cosine) })
		return near[:min(len(near), limit)], nil
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// mostEmbedded is how many functions a repository may have for its cases to be measured with
// vectors: a small model takes a tenth of a second for each on a processor.
const mostEmbedded = 1000

// withVectors measures locate with vectors on the cases of smaller repositories: each weight beside
// none, and vectors alone.
func withVectors(all []*loaded, e *embedder, add func(name string, rs []result)) error {
	all = slices.DeleteFunc(withFunctions(all), func(c *loaded) bool {
		n := 0
		c.repo.Functions(func(*knowledge.Decl, string, string) { n++ })
		return n > mostEmbedded
	})
	for _, weight := range []float64{0, .1, .2, .3, .5, 1} {
		w := locate.Default
		w.Vectors = weight
		out := make([]result, len(all))
		for i, c := range all {
			a, err := locate.Locate(context.Background(), c.store, locate.Question{Text: c.Report}, locate.Options{Weights: &w, Limit: deep, Text: c.store.Text, Nearest: e.nearest(c)})
			if err != nil {
				return err
			}
			out[i] = judgeAnswer(c, a)
		}
		add(fmt.Sprintf("vectors, weight %.1f", weight), out)
	}
	out := make([]result, len(all))
	for i, c := range all {
		near, err := e.nearest(c)(context.Background(), c.Report, nil, deep)
		if err != nil {
			return err
		}
		var fs []found
		for _, n := range near {
			fs = append(fs, found{n.Path, n.Name})
		}
		out[i] = judge(c, fs, filesOf(fs))
	}
	add("vectors alone", out)
	return nil
}
