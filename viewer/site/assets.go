package site

import (
	"bytes"
	"embed"
	"io/fs"
	"regexp"
)

//go:embed assets
var shared embed.FS

// Icon is the picture of all pages, an SVG.
var Icon = asset(shared, "icon.svg")

var (
	importLine = regexp.MustCompile(`(?m)^import \{[^}]*\} from "[^"]*";\n`)
	exportWord = regexp.MustCompile(`(?m)^export `)
)

// Script joins modules to one text. The scripts are ES modules, each of which names what it needs. For a file
// they have to be one text, and what is served is that text, too, so that both are the
// same. So this is the whole of the build: modules behind those that they import
// (the order of names), without the words import and export. A name that two modules
// declare is a syntax error of the sum, which every browser test finds. Modules are of the folder assets of own, or
// shared ones of this package.
func Script(own fs.FS, names ...string) []byte {
	var b bytes.Buffer
	for _, name := range names {
		text := importLine.ReplaceAll(asset(own, name), nil)
		b.Write(exportWord.ReplaceAll(text, nil))
	}
	return b.Bytes()
}

// Style is the style that pages share, and a page's own behind it.
func Style(own fs.FS, name string) []byte {
	return append(append(asset(shared, "site.css"), '\n'), asset(own, name)...)
}

func asset(own fs.FS, name string) []byte {
	data, err := fs.ReadFile(own, "assets/"+name)
	if err != nil {
		data, err = fs.ReadFile(shared, "assets/"+name)
	}
	if err != nil {
		panic(err) // it is part of the program
	}
	return bytes.Clone(data)
}
