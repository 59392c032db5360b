// Package viewer shows one recorded run, or two side by side, as a page in a
// browser: the call tree, the source of each function, a graph of where the calls
// and the tokens are, and the prompt as it would be sent.
//
// # One page, two ways to it
//
// [Server] serves the page on the loopback interface, for as long as somebody
// looks. [Page.WriteReport] writes the same page into one file, with the data in
// it. Markup, style and scripts are the same bytes in both (package folder
// assets); only where the script gets its data differs, from requests or out of
// the file.
//
// The whole tree goes to the browser at once, as columns of numbers in call
// order ([Page] has the particulars): 50,000 nodes are about a megabyte, which a
// browser parses faster than it would answer one click over a protocol that sends
// the children of a node at a time. It then makes elements only for the rows in
// sight. So searching, folding and drawing need no server, and work in a report.
// Sources, which have to be looked for on disk, come one by one, and the prompt
// when the tree is on the screen. What is known of the source around ([Sources]) only a
// server shows: where a question leads, and of each declaration its text, callers, callees
// and tests.
//
// # Who may look
//
// What is shown is somebody's source code. The server
//
//   - listens on 127.0.0.1 alone, on a port that the system chooses;
//   - answers only requests that package viewer/guard lets through: to its own address, by its own page, with the token. It comes after the
//     # of the URL, a part that browsers send to no server and put into no Referer;
//     the script keeps it for the tab and sends it in a header;
//   - has no request that changes anything by GET. Asking the model is a POST, and so is
//     all about the source around, since the index is brought up to date for it.
//     It names declarations by numbers that the server gave: what a browser has of a
//     path is masked and escaped.
package viewer
