// Package redacttest makes secrets for tests: more than 300 forms, each in the places
// where it is plausible. None of them is in the repository: they are made from a seed
// at test time, so that no scanner of sources finds them and no detector can know
// them beforehand. The program does not import it.
//
//	for _, form := range redacttest.Forms(1) {
//		for _, s := range form.Samples {
//			// put s into a source, a command line, a value; then
//			if part := form.Left(output); part != "" { ... }
//		}
//	}
//
// A form is a way for a secret to be seen: the form of a token ("ghp_" and 36
// letters), a password in a connection string, a literal beside a name, an argument
// after -p, a token whose literal has escapes in it. A sample is one text with it.
// Forms whose Kind is [Hidden] are not found by a detector that goes by form and name,
// and are here so that the table in docs/redaction.md says so.
package redacttest

import (
	"strings"
)

// Kind says what makes a text a secret.
type Kind string

const (
	Token      Kind = "token"      // its own form
	PrivateKey Kind = "key"        // its own form, over several lines as a rule
	Connection Kind = "connection" // its place in a URL or a connection string
	Named      Kind = "named"      // the name that it is beside
	Header     Kind = "header"     // the header that it is in
	Argument   Kind = "argument"   // the flag that it follows
	Spelled    Kind = "spelled"    // a token, spelled otherwise
	Hidden     Kind = "hidden"     // nothing that a detector can see
)

// Place is where a secret may be.
type Place string

const (
	// Statements in a Go function.
	Assign  Place = "assign"  // v := "..."
	Field   Place = "field"   // v := config{Name: "..."}
	Map     Place = "map"     // v := map[string]string{"name": "..."}
	Compare Place = "compare" // if v == "..." {}
	Call    Place = "call"    // f("...")

	// What a run shows.
	Value Place = "value" // of the variable Sample.Name, as run --values has it
	Args  Place = "args"  // a command line
	Env   Place = "env"   // NAME=value

	// Texts.
	JSON    Place = "json"
	YAML    Place = "yaml"
	HTTP    Place = "header"
	URL     Place = "url"
	Message Place = "text" // a line of a log, a comment
)

// Go reports whether the samples of a place are statements of Go.
func (p Place) Go() bool {
	return p == Assign || p == Field || p == Map || p == Compare || p == Call
}

// Sample is a text with a secret in it.
type Sample struct {
	Place Place
	Name  string   // of the variable, in a Value
	Text  string   // the whole of it; of Args, the arguments with spaces between them
	Args  []string // only of Args; the first one is the program
}

// Form is a secret in one form.
type Form struct {
	Name    string // "github-pat", unique
	Kind    Kind
	Secrets []string // none of them may survive
	Samples []Sample // one for each place, in the order of the constants
}

// In returns the sample of a place.
func (f Form) In(p Place) (Sample, bool) {
	for _, s := range f.Samples {
		if s.Place == p {
			return s, true
		}
	}
	return Sample{}, false
}

// piece is the length of the pieces of a secret that are looked for.
const piece = 8

// Left returns what of the form's secrets is in a text: the whole of a short one, a
// piece of eight bytes or more of a long one. It is "" if nothing is.
func (f Form) Left(text string) string {
	for _, s := range f.Secrets {
		n := max(1, len(s)/piece)
		for i := range n {
			if part := s[i*len(s)/n : (i+1)*len(s)/n]; strings.Contains(text, part) {
				return part
			}
		}
	}
	return ""
}

// Forms returns all forms, with the secrets that belong to a seed: the same ones for
// the same seed.
func Forms(seed uint64) []Form {
	var out []Form
	for _, recipes := range [][]recipe{tokens, privateKeys, connections, named, headers, arguments, spelled, hidden} {
		for _, r := range recipes {
			f := Form{Name: r.name, Kind: r.kind}
			r.fill(&f, newRandom(seed, r.name))
			out = append(out, f)
		}
	}
	return out
}
