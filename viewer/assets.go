package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// The scripts are ES modules, each of which names what it needs. For a report they
// have to be one text, and what is served is that text, too, so that both are the
// same. So this is the whole of the build: modules behind those that they import
// (the order below), without the words import and export. A name that two modules
// declare is a syntax error of the sum, which every browser test finds.
var modules = []string{"dom.js", "data.js", "model.js", "tree.js", "values.js", "known.js", "unit.js", "code.js", "graph.js", "markdown.js", "rounds.js", "prompt.js", "ranked.js", "main.js"}

var (
	importLine = regexp.MustCompile(`(?m)^import \{[^}]*\} from "[^"]*";\n`)
	exportWord = regexp.MustCompile(`(?m)^export `)
)

var (
	style = asset("viewer.css")
	icon  = asset("icon.svg")

	// What takes milliseconds is made when it is asked for: most commands show no page.
	script     = sync.OnceValue(bundle)
	layout     = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(assets, "assets/page.html")) })
	servedPage = sync.OnceValue(renderServed)
)

// servedPolicy is the Content-Security-Policy of what is served.
const servedPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func asset(name string) []byte {
	data, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return data
}

func bundle() []byte {
	var b bytes.Buffer
	for _, name := range modules {
		text := importLine.ReplaceAll(asset(name), nil)
		b.Write(exportWord.ReplaceAll(text, nil))
	}
	return b.Bytes()
}

// shell is what the template of the page is given. A report has style, script and
// data in it; the served page refers to the first two and asks for the third.
type shell struct {
	Policy string // of a report, which has no server to send it
	Title  string
	Style  template.CSS
	Script template.JS
	Data   template.JS
}

func renderServed() []byte {
	var b bytes.Buffer
	if err := layout().Execute(&b, shell{Title: "tracerag"}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// hashSource is a text as a Content-Security-Policy allows it.
func hashSource(text []byte) string {
	sum := sha256.Sum256(text)
	return fmt.Sprintf("'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
}

// filePolicy is the Content-Security-Policy of a report: nothing but its own style
// and script, and no connection to anywhere.
func filePolicy() string {
	return strings.Join([]string{
		"default-src 'none'", "script-src " + hashSource(script()), "style-src " + hashSource(style), "img-src data:",
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}
