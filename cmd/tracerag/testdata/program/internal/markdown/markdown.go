// Package markdown shows Markdown as text.
package markdown

import "os"

// Render returns the text of a Markdown file.
func Render(name string) string {
	data, _ := os.ReadFile(name)
	return plain(string(data))
}

func plain(text string) string { return text }
