package rank

import (
	"strings"

	"tracerag/calltree"
	"tracerag/trace"
)

// reporters are packages that compare and print values for tests.
var reporters = []string{
	"github.com/stretchr/testify", "github.com/davecgh/go-spew", "github.com/pmezard/go-difflib", "github.com/google/go-cmp", "github.com/kr/pretty",
	"github.com/kr/text", "github.com/kylelemons/godebug", "github.com/sergi/go-diff", "github.com/hexops/gotextdiff", "gotest.tools", "github.com/onsi/gomega",
	"github.com/onsi/ginkgo", "github.com/smartystreets/assertions", "github.com/smartystreets/goconvey", "github.com/matryer/is", "github.com/frankban/quicktest",
	"gopkg.in/check.v1", "github.com/alecthomas/assert", "github.com/alecthomas/repr", "github.com/shoenig/test", "github.com/nsf/jsondiff", "github.com/go-test/deep",
}

// reports reports whether a package is one of those.
func reports(pkg string) bool {
	for _, r := range reporters {
		if rest, ok := strings.CutPrefix(pkg, r); ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// reporting marks what ran only to report that a test failed: what belongs to packages for
// that, what they alone called, and what a test called by way of the standard library
// alone, as t.Errorf calls String.
func (c *collection) reporting(runs []Run, fs []Function) {
	other := make([]bool, len(fs)) // some call of it was for something else
	seen := make([]bool, len(fs))
	for _, r := range runs {
		r.Tree.Walk(func(n *calltree.Node, _ int) bool {
			i := c.of[*n.Func]
			seen[i] = true
			if !reports(n.Func.Package) {
				other[i] = other[i] || !c.forReport(n, fs)
			}
			return true
		})
	}
	for i := range fs {
		fs[i].Reporting = seen[i] && !other[i] && !fs[i].Test
	}
}

// forReport reports whether a call, or one on the way to it, reports a failure.
func (c *collection) forReport(n *calltree.Node, fs []Function) bool {
	for up := range n.Up() {
		if reports(up.Func.Package) {
			return true
		}
		if up.Flags&trace.Via != 0 && up.Parent != nil && fs[c.of[*up.Parent.Func]].Test && printed(up.Func.Name) {
			return true
		}
	}
	return false
}

// printed reports whether fmt calls a method of that name to print a value.
func printed(name string) bool {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "String", "Error", "Format", "GoString", "MarshalText":
		return true
	}
	return false
}
