package index

import (
	"context"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// EmbedFunc returns a vector for each text.
type EmbedFunc func(ctx context.Context, texts []string) ([][]float32, error)

// Masker hides secrets. It learns what is one from all files before the first is sent: a literal may
// be known as a password by its name elsewhere.
type Masker interface {
	LearnText(text string)
	Text(text string) string
}

// embedBatch is how many texts are sent at once. Servers take a hundred and more; a batch is what
// an interruption loses.
const embedBatch = 64

// VectorStore knows functions and keeps their vectors.
type VectorStore interface {
	knowledge.Reader
	knowledge.Vectors
}

// EmbedText is the text of a function that a vector is made of: its name, doc comment and the
// beginning of its code. Small models read some 100 to 250 tokens.
func EmbedText(name, doc, text string) string {
	const comment, source = 400, 600
	doc = strings.Join(strings.Fields(strings.NewReplacer("//", " ", "/*", " ", "*/", " ").Replace(doc)), " ")
	return name + "\n" + cut(doc, comment) + "\n" + cut(text, source)
}

func cut(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// Embed makes the vectors that functions lack: of a function whose text did not change since,
// nothing is asked again, also when an earlier call was interrupted. Secrets are masked in what
// is sent. Functions whose files can't be read, or changed since they were indexed, are left out.
func Embed(ctx context.Context, w VectorStore, model string, embed EmbedFunc, mask Masker, progress func(done int)) (made int, err error) {
	repositories, err := w.Repositories(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range repositories {
		n, err := embedRepository(ctx, w, &r, model, embed, mask, func(n int) { progress(made + n) })
		made += n
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

func embedRepository(ctx context.Context, w VectorStore, r *knowledge.Repository, model string, embed EmbedFunc, mask Masker, progress func(int)) (made int, err error) {
	read := func(path string) ([]byte, error) { return code.Read(r.Root, path) }
	if r.Elsewhere && r.Text != nil {
		read = r.Text
	} else if _, err := code.Root(r.Root); err != nil {
		return 0, err
	}
	left, err := w.Unembedded(ctx, model, []int64{r.ID}, 1<<30)
	if err != nil {
		return 0, err
	}
	files := map[string][]byte{}
	once := func(path string) []byte {
		if text, ok := files[path]; ok {
			return text
		}
		text, err := read(path)
		if err != nil {
			text = nil
		}
		clear(files) // the declarations are in the order of the files
		files[path] = text
		return text
	}
	if len(left) > 0 {
		// What one file names a password is none in any other.
		all, err := w.Product(ctx, r.ID)
		if err != nil {
			return 0, err
		}
		for _, f := range all {
			if text, err := read(f.Path); err == nil {
				mask.LearnText(string(text))
			}
		}
	}
	var texts []string
	var vectors []knowledge.Vector
	send := func() error {
		if len(texts) == 0 {
			return nil
		}
		got, err := embed(ctx, texts)
		if err != nil {
			return err
		}
		for i := range vectors {
			vectors[i].Values = got[i]
		}
		if err := w.SetVectors(ctx, model, vectors); err != nil {
			return err
		}
		made += len(vectors)
		progress(made)
		texts, vectors = texts[:0], vectors[:0]
		return nil
	}
	for i := range left {
		d := &left[i]
		text := once(d.Path)
		if d.End > len(text) || d.Doc.End > len(text) || !strings.Contains(string(d.Of(text)), d.Name[strings.LastIndexByte(d.Name, '.')+1:]) {
			continue
		}
		texts = append(texts, mask.Text(EmbedText(d.Name, string(d.Decl.Doc.Of(text)), string(d.Of(text)))))
		vectors = append(vectors, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments})
		if len(texts) == embedBatch {
			if err := send(); err != nil {
				return made, err
			}
		}
	}
	return made, send()
}
