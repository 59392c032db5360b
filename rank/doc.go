// Package rank orders the functions of a run by how much a question is about
// them, without a model.
//
// # The method
//
// What ran is the corpus: the search is among the executed functions only, which
// is worth more than any formula (on the 64 bugs of the project's development
// corpus the mean reciprocal rank of plain BM25 is .36 over the whole repository
// and .53 over what the failing test executed). Above that
//
//   - the text is a BM25 with fields (Robertson and Zaragoza 2009): a function is
//     its name, receiver, doc comment, package and body; identifiers are split,
//     and kept whole as well; English is stemmed, and the abbreviations that Go
//     programs use are read as the words that questions use;
//   - a long body counts by its best window of 40 lines, since the function that
//     interprets everything mentions everything;
//   - the rarity of a word is that in the whole module, not in what ran, where
//     the words of the question are common;
//   - a question that quotes a function's string literal (an error message), or
//     says the function's name, or begins with the name of its package as Go's
//     commit messages do, or comes with a test of that package, means it more;
//   - what an empty run executed too (package initialisation) means it less, as
//     does what passing runs executed, in the manner of spectrum-based fault
//     localisation (Abreu et al. 2007).
//
// Functions that share no word with the question are in the order of their
// distance in the call graph from those that share most.
//
// Depth, counts of calls, the share of calls, the length of a function, and the
// scores of its callers and callees were tried as factors and made the order of
// that corpus worse or left it as it was.
//
// # How to use it
//
// [Runs] ranks the functions of recorded runs. It is what every command uses:
//
//	r := rank.Runs("who draws the border?", []rank.Run{{Trace: tr, Tree: tree, Source: text}}, rank.Evidence{})
//	fmt.Println(r.Functions[0].Name, r.Functions[0].Why())
//
// [Rank] is the formula alone, over a [Corpus] of texts that may come from anywhere:
// bench/ranking fits its [Weights] to a corpus of bugs.
//
// # A new signal
//
// A new signal is a [Kind] (reason.go), a field of [Function] or [Corpus] that carries
// what is known, a weight in [Weights], and a term in Rank; runs.go fills the field in,
// from [Evidence] if the runs alone do not have it. bench/ranking fits the weight and
// measures what it is worth.
package rank
