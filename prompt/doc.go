// Package prompt puts a question about a run of a Go program into words that a
// language model can answer: the question, the call tree of the run, and the
// source of the functions that were called.
//
// # The method
//
// Kamiya ("A RAG method for source code inquiry tailored to long-context
// LLMs", 2024) retrieves by execution instead of by search: what a question is
// about is what ran. His five prompt variants (table 3) differ in whether they
// hold the call tree, and in the order of the sources. Both carry the order in
// which functions were called, and answers without either were the worst: mean
// scores were A 3.33, full 3.17, T 2.92, C 2.75, CA 2.58.
//
// [Ordered], the default, is not among them. It follows the figures (a tree;
// each source once, as in A, but in call order, as in full) and two properties
// of models that the paper did not use: caches match equal beginnings, so what never
// changes comes first; and a question is answered better
// when it comes last, after a long text.
//
// # What is in a prompt
//
//	call tree     each call below its caller, in the order of first calls
//	sources       a heading with name and place, and the declaration with its
//	              doc comment; closures within the function around them;
//	              instantiations of a generic function once
//	notes         what the recording lacks, which is not the same as not called
//
// A function without a source says so in its place, and in [Prompt.Warnings].
// What the compiler made (wrappers, method values) is in the tree only. Times,
// process and goroutine ids and addresses are nowhere: equal runs give equal
// prompts, byte for byte.
//
// Sources come out of repositories that may be hostile. They are fenced so
// that none can end its own block, and the instructions call them data.
//
// # Budgets
//
// With [Options.Budget] a prompt has at most so many tokens, by an exact count of
// the whole. Each function gets a [Tier], from its whole source down to nothing but
// a share in the mark of a folded subtree, the least relevant the lowest ([Fit]).
// Whatever is left out has a mark in its place, in square brackets on a line of its
// own, which no Go parser would take, and is in [Prompt.Shown].
//
// # Rounds
//
// [Rounds] asks without all sources: the first prompt has an index of the functions that
// ran, the model says what it wants to read, and later prompts have that ([Reader]).
//
// # Accounting
//
// A [Prompt] always knows its tokens: in all, by section and by function, and
// what the model's window leaves. [Ordered] has the number of every fifth source line
// in front of it, and of the first and those after a gap, for 3 % more tokens; on every line it
// would be 13 %. As XML a prompt is longer by 4 %, as JSON by 17 %.
//
// # Single functions
//
// A [Reader] writes one function after the other in the same form, and the types that
// they name, for a model that asks for what it wants to see.
package prompt
