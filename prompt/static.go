package prompt

import "errors"

// errStatic refuses what only a recorded run has.
var errStatic = errors.New("without a recorded run only the variant ordered can be made, for one tree of callers, without a template")

// checkStatic refuses an input about the source alone that asks for a run.
func (in *Input) checkStatic(o *Options) error {
	if in.Static && (len(in.Runs) != 1 || o.Variant != Ordered || o.Template != "") {
		return errStatic
	}
	return nil
}

// wording is what prompts say of where their functions come from: of what ran, or of what
// was found in the source, which proves nothing about what runs.
type wording struct {
	tree  partKind // names the section with the tree
	title string   // its heading
	gaps  string   // heading of the notes
	// of the instructions: how they begin, how the tree, the sources and what is cut are read
	opening, reading, sources, cut string

	// of rounds and of what is read
	about, names, absent string
	first, index, others string // headings
	begins, none         string // of a function without callers, and without neighbours
	missing, nearby      string // of a request that names nothing
}

func (m *material) words() *wording {
	switch {
	case m.static:
		return &foundWords
	case len(m.runs) == 2:
		return &comparedWords
	}
	return &recordedWords
}

var recordedWords = wording{
	tree:    partTree,
	title:   "Call tree",
	gaps:    "What the recording",
	opening: instructionsOne,
	reading: instructionsReading,
	sources: instructionsSourcesOne,
	cut:     instructionsCut,
	about:   "You are asked about a Go program. One run of it was recorded.",
	names:   "the names of the functions that ran",
	absent:  "A function that is not named was not called, or was not recorded: the standard library and package initialisation usually are not.",
	first:   "The run: ",
	index:   "Functions that ran, by package, in the order of first calls",
	others:  "Other functions that ran",
	begins:  "nothing that was recorded: it begins the program or a goroutine, or the runtime calls it",
	none:    "nothing that was recorded",
	missing: "no function of that name ran",
	nearby:  " did",
}

var comparedWords = func() wording {
	w := recordedWords
	w.opening, w.sources = instructionsTwo, instructionsSourcesTwo
	w.about = "You are asked about a Go program. Two runs of it were recorded, A and B."
	return w
}()

var foundWords = wording{
	tree:    partCallers,
	title:   "Callers in the source",
	gaps:    "What the search",
	opening: instructionsStatic,
	reading: instructionsReadingStatic,
	sources: instructionsSourcesStatic,
	cut:     instructionsCutStatic,
	about:   "You are asked about a Go program. No run of it was recorded: its source was searched for the words of the question.",
	names:   "the names of the functions that were found, and of their callers",
	absent:  "A function that is not named was not found by its words; it may matter anyway.",
	first:   "Searched: ",
	index:   "Functions that were found, by package",
	others:  "Other functions that were found",
	begins:  "no function that was found",
	none:    "no function that was found",
	missing: "no function of that name was found",
	nearby:  " were found",
}

const instructionsStatic = `You are asked about a Go program. No run of it was recorded: its source was searched for the words of the question. Below are the functions that were found with functions that call them, their source, and the question.
`

const instructionsReadingStatic = `
How to read it:
- Below "Callers in the source", each function is indented below a function whose source calls it, or may call it through an interface. This shows what can be called, not what is called in a run, how often, or in which order.
- What is not here was not found by the words of the question. It may matter anyway.
`

const instructionsSourcesStatic = `- The sources are in the order of that tree, each once, under its function's name and its place as file:first line-last line.
- A number in front of a source line (the first, every fifth, each after a gap) is its line number in the file; count on from there.
`

const instructionsCutStatic = `- What is least relevant to the question is left out, and square brackets are where it was. "[12 functions folded]" in the tree: these are not listed. "[signature only: lines 31-36 left out]" or "[lines 31-90 left out]" in a source: those lines of the file are not shown.
`
