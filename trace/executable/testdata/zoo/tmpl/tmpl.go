// Package tmpl holds code that claims to come from elsewhere.
package tmpl

//line page.tmpl:100

//go:noinline
func Render(n int) int {
	return n * 3
}
