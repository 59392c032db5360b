// Package locate finds the functions, files, packages and repositories that a report is
// about, without a run and without a model.
//
// # Evidence
//
// Several lists of evidence each look at one thing that a report has, and mark functions:
//
//   - words (words.go): the formula of package rank over the best candidates of the
//     store's full text index, with the rarity of words in whole repositories;
//   - names (names.go): identifiers that the report writes;
//   - literals (literals.go): texts that the report quotes, and lines of error messages;
//   - place (place.go): packages, directories and files that the report writes, above all
//     in front of its title's colon;
//   - history (history.go): what commits changed whose subjects share words with the report;
//   - frames (frames.go): stack traces and positions in the report;
//   - tests (tests.go): what the tests that the report names call;
//   - calls (calls.go): what calls the best functions, or is called by them. It adds
//     candidates and takes none away;
//   - ran (ran.go): what a recorded run executed. Those functions come first.
//
// A score is the sum of what each list found, by [Weights]; package bench/locating measures
// each of them. A list with weight zero does not run. What a list found is in the reasons of
// a function, so that a score is the sum of its reasons but for the factors of package rank.
//
// # Several repositories
//
// With more than one repository in the store, route.go first tells which are meant: by
// their words, by the subjects of their commits and by their best functions. The lists
// then look into the best three.
//
// # How to use it
//
//	a, err := locate.Locate(ctx, store, locate.Question{Text: report}, locate.Options{})
//	fmt.Println(a.Functions[0].Name, locate.Why(a.Functions[0].Reasons))
//
// # A new list
//
// A new list is a file with a method of search that calls mark, a kind (reason.go), a field
// in [Weights], and a line in lists (locate.go).
package locate
