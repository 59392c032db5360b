package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"tracerag/viewer/site"
)

//go:embed assets
var assets embed.FS

// modules are the page's, each behind those that it imports.
var modules = []string{"dom.js", "theme.js", "server.js", "data.js", "model.js", "tree.js", "observed.js", "values.js", "known.js", "source.js", "unit.js", "code.js", "graph.js", "markdown.js", "rounds.js", "prompt.js", "ranked.js", "main.js"}

var (
	// What takes milliseconds is made when it is asked for: most commands show no page.
	script     = sync.OnceValue(func() []byte { return site.Script(assets, modules...) })
	style      = sync.OnceValue(func() []byte { return site.Style(assets, "viewer.css") })
	layout     = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(assets, "assets/page.html")) })
	servedPage = sync.OnceValue(renderServed)
)

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
		"default-src 'none'", "script-src " + hashSource(script()), "style-src " + hashSource(style()), "img-src data:",
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}
