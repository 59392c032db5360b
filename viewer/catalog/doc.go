// Package catalog shows what is known of repositories as a page in a browser, without a run: which repositories
// there are and in which state, where in them something is, and of each function its source, what it does, what
// calls it, what it calls, which tests and programs executed it, and with which values.
//
// The page only reads. It shows texts as they were indexed, brings nothing up to date, and has no request that
// writes: those of the viewer that would are refused by name. The one thing that is kept is who asked what
// ([Content.Asked]).
//
// # Names, not numbers
//
// A browser names a declaration by its repository, its file's path and its symbol, as the answers have them: so a link to
// it can be kept and sent to others, and leads to what is there then. What a browser has of a name is masked and
// escaped; it is compared with the names of the store in that form, and never opened as a path.
//
// # Who may look
//
// Package viewer/guard decides. The page itself is for everybody who reaches the server and holds nothing; each answer
// needs a token. A question is one of the page's script, and a POST: addresses are written into logs, and questions
// need not be.
package catalog
