// Package calls finds out which declarations of a module call which, from its types alone.
//
// # What an edge says
//
// An edge goes from a call site of a declaration to a declaration of the repository. Static: the
// call names its callee, and that is all it can call. Interface: the call is one of an
// interface's method, and the callee is a candidate. Value: the call is one of a function value,
// and the callee is a candidate, or has a function literal that is one. No edge is made from
// names, and none from code with errors: what can't be type-checked is a [Gap], with the reason.
//
//   - A site is the index of a call expression, or of a range clause that may call an
//     iterator, in the caller's declaration: see [tracerag/code.Sites].
//   - Function literals belong to the declaration around them. A call of one by that
//     declaration is no edge. Variables' initialisers belong to their group.
//   - Instances of generic code are their origin. What the compiler makes to adapt a method (wrappers,
//     bound methods, promoted methods) is the method that is declared.
//   - A call out of the repository is no edge, nor is what it calls back: for
//     sort.Slice(x, less) it has no edge to less.
//
// # Where edges come from
//
// Package go/types decides what is static; no call graph is needed for it. Candidates come from Variable
// Type Analysis (Sundaresan et al. 2000; golang.org/x/tools/go/callgraph/vta) on the module's own code in
// SSA form: the types and functions whose values reach the call. Other modules and the
// standard library are known by export data, without the bodies of their functions. So values
// are lost on their way through them, through reflection and through any. A call of an interface that
// the repository declares and that no value reaches has therefore all types as candidates that
// the module makes into interfaces and that implement it. docs/knowledge.md has the recall against
// recorded runs.
//
// # One universe
//
// Test files are added to their package, which is then checked once: see plan. A candidate in a
// test file is a candidate of the package's own calls, too; its file tells it apart. They are
// made with Config.Tests alone.
//
// Each module is loaded by itself, one at a time. A call of another module of the repository is an
// edge; candidates are those of the module's own values.
//
// # What to keep
//
// Static edges of a package change only with the package, or with the declarations that it uses. Any
// change of the module may change candidates. Nothing of a result depends on an earlier one: a module
// loaded after every commit has the rows of the module loaded once. [Package] has a hash of its static
// rows and one of the others, so that equal rows need not be stored again. Layout and comments change no
// row.
//
// # What is run
//
// Load runs "go env" and "go list", and the compiler for the export data of other modules. Nothing that the
// repository names is run, and the network is not used: no cgo, no pkg-config, no other
// toolchain, no version control, no driver of go/packages, no download, no write to go.mod. Files that
// need cgo are gaps.
package calls
