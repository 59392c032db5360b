package catalog

import (
	"embed"
	"sync"

	"tracerag/viewer/site"
)

//go:embed assets
var assets embed.FS

// modules are the page's, each behind those that it imports.
var modules = []string{"dom.js", "theme.js", "server.js", "source.js", "observed.js", "asking.js", "links.js", "repositories.js", "find.js", "function.js", "app.js"}

var (
	script = sync.OnceValue(func() []byte { return site.Script(assets, modules...) })
	style  = sync.OnceValue(func() []byte { return site.Style(assets, "catalog.css") })
	page   = func() []byte { data, _ := assets.ReadFile("assets/catalog.html"); return data }()
)
