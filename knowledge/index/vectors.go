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

// mostTexts is how many texts are sent at once. Servers take a hundred and more; so many is what
// an interruption loses.
const mostTexts = 64

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

// Embedding is how vectors are made.
type Embedding struct {
	Model string
	Embed EmbedFunc
	Mask  Masker // of secrets in what is sent
	// Read returns the text of a file as it was indexed. nil: it is read from the repository's directory, or is the store's if that is
	// on another machine.
	Read func(path string) ([]byte, error)
	// Claim has one process at a time make the vectors of some texts: it waits for others that do, and returns those that still
	// lack one. nil: no other process makes any.
	Claim    func(ctx context.Context, of []knowledge.Vector) (lacking []knowledge.Vector, release func(), err error)
	Progress func(done int) // nil: nobody
}

// Embed makes the vectors that functions lack: of a function whose text did not change since,
// nothing is asked again, also when an earlier call was interrupted. Secrets are masked in what
// is sent. Functions whose files can't be read, or changed since they were indexed, are left out.
func Embed(ctx context.Context, w VectorStore, e *Embedding) (made int, err error) {
	repositories, err := w.Repositories(ctx)
	if err != nil {
		return 0, err
	}
	for i := range repositories {
		one := *e
		if e.Progress != nil {
			before := made
			one.Progress = func(n int) { e.Progress(before + n) }
		}
		n, err := EmbedRepository(ctx, w, &repositories[i], &one)
		made += n
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// EmbedRepository is [Embed] of one repository.
func EmbedRepository(ctx context.Context, w VectorStore, r *knowledge.Repository, e *Embedding) (made int, err error) {
	read := e.Read
	if read == nil {
		if read, err = reader(r); err != nil {
			return 0, err
		}
	}
	left, err := w.Unembedded(ctx, e.Model, []int64{r.ID}, 1<<30)
	if err != nil || len(left) == 0 {
		return 0, err
	}
	// What one file names a password is none in any other.
	all, err := w.Product(ctx, r.ID)
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		if text, err := read(f.Path); err == nil {
			e.Mask.LearnText(string(text))
		}
	}
	var file string // whose text is the last one that was read: the declarations are in the order of the files
	var text []byte
	b := &embedBatch{Embedding: e, store: w}
	for i := range left {
		d := &left[i]
		if d.Path != file {
			file = d.Path
			if text, err = read(file); err != nil {
				text = nil
			}
		}
		if d.End > len(text) || d.Doc.End > len(text) || !strings.Contains(string(d.Of(text)), d.Name[strings.LastIndexByte(d.Name, '.')+1:]) {
			continue
		}
		b.add(knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments}, e.Mask.Text(EmbedText(d.Name, string(d.Decl.Doc.Of(text)), string(d.Of(text)))))
		if len(b.texts) == mostTexts {
			if err := b.send(ctx); err != nil {
				return b.made, err
			}
		}
	}
	err = b.send(ctx)
	return b.made, err
}

// reader reads the files of a repository.
func reader(r *knowledge.Repository) (func(path string) ([]byte, error), error) {
	if r.Elsewhere && r.Text != nil {
		return r.Text, nil
	}
	_, err := code.Root(r.Root)
	return func(path string) ([]byte, error) { return code.Read(r.Root, path) }, err
}

// embedBatch is what is sent at once.
type embedBatch struct {
	*Embedding
	store   VectorStore
	vectors []knowledge.Vector
	texts   []string
	made    int
}

func (b *embedBatch) add(v knowledge.Vector, text string) {
	b.vectors, b.texts = append(b.vectors, v), append(b.texts, text)
}

// send has the model make the vectors, and keeps them.
func (b *embedBatch) send(ctx context.Context) error {
	defer func() { b.vectors, b.texts = nil, nil }()
	if b.Claim != nil && len(b.vectors) > 0 {
		lacking, release, err := b.Claim(ctx, b.vectors)
		if err != nil {
			return err
		}
		defer release()
		b.keepOnly(lacking)
	}
	if len(b.texts) == 0 {
		return nil
	}
	got, err := b.Embed(ctx, b.texts)
	if err != nil {
		return err
	}
	for i := range b.vectors {
		b.vectors[i].Values = got[i]
	}
	// They are paid for: an interruption that comes now does not lose them.
	if err := b.store.SetVectors(context.WithoutCancel(ctx), b.Model, b.vectors); err != nil {
		return err
	}
	b.made += len(b.vectors)
	if b.Progress != nil {
		b.Progress(b.made)
	}
	return nil
}

// keepOnly leaves out what another process has made meanwhile.
func (b *embedBatch) keepOnly(lacking []knowledge.Vector) {
	type key struct{ tokens, comments code.Hash }
	open := map[key]bool{}
	for _, v := range lacking {
		open[key{v.Tokens, v.Comments}] = true
	}
	vectors, texts := b.vectors, b.texts
	b.vectors, b.texts = nil, nil
	for i, v := range vectors {
		if open[key{v.Tokens, v.Comments}] {
			b.add(v, texts[i])
		}
	}
}
