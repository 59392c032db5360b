// Package words splits texts of people and of programs into words that can be compared.
//
// A word is a run of letters, digits and underscores, as an identifier is one. It is
// split into parts ([Split]: parseHTTPRequest is parse, http, request), parts that say
// nothing are passed over, and the others are stemmed, abbreviations in their long form: args and
// arguments are one term. A word of several parts is also a term as a whole, so that
// an identifier that a report names counts for more than its parts.
//
// What an index keeps of a text ([Splitter.Append]) and what a question asks of it ([Asked],
// [Question]) are made by the same rules. They are for English and for Go.
package words
