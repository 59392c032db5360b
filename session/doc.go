// Package session leads from the name of a trace to what one looks at.
//
// A recorded run is looked at as a [View]: its trace, its call tree less what a baseline
// did too, and the sources of its functions. Every face of tracerag (the command line,
// the viewer, the server for coding agents) opens its views by [Session.Open], so that all
// of them prune, focus and mask alike:
//
//	s := &session.Session{Store: store.Open(".tracerag"), Mask: session.NewMasker(func() *redact.Redactor { return redact.New() })}
//	views, err := s.Open([]string{"@last"}, session.TreeOptions{})
//	views[0].Tree.WriteText(os.Stdout, calltree.View{File: views[0].File})
//
// # Secrets
//
// A text may be known as a secret by its name in a source, and be a mere argument on the
// command line, or the other way round. So the [Masker] learns first, from the trace and
// the files of its functions, and masks afterwards. Open does both. What else is shown
// beside the trace (a question, a command line) is learned before Open is called.
//
// # Errors and warnings
//
// The package knows no flags. Its errors are types, to which a face adds how its user can
// help it. What went wrong and ends nothing goes to [Session.Warn].
package session
