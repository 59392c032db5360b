// Places on the page, as fragments of its address: they can be kept and sent to others. None has the token.

import { el } from "./dom.js";

const encoded = (parts) => "#/" + parts.map(encodeURIComponent).join("/");

// place is the fragment of what a reference names: a declaration, a file or a repository.
export function place(ref) {
  const path = (ref.path ?? "").split("/");
  if (ref.symbol) return encoded(["function", ref.repository, ref.symbol, ...path]);
  if (ref.path) return encoded(["file", ref.repository, ...path]);
  return encoded(["repository", ref.repository]);
}

// searched is the fragment of a search.
export const searched = (text, repository) => encoded(["search", text, ...(repository ? [repository] : [])]);

// here reads the fragment that the page is at: what is shown, and of what.
export function here() {
  let parts;
  try {
    parts = location.hash.slice(2).split("/").map(decodeURIComponent);
  } catch {
    return { view: "unknown" }; // cut in the middle of a letter
  }
  const [view, first = "", second = "", ...rest] = parts;
  switch (view) {
    case "": return { view: "repositories" };
    case "locate": return { view };
    case "search": return { view, text: first, repository: second };
    case "repository": return { view, repository: first };
    case "file": return { view, repository: first, path: [second, ...rest].join("/") };
    case "function": return { view, repository: first, symbol: second, path: rest.join("/") };
  }
  return { view: "unknown" };
}

// link leads to what a reference names.
export const link = (ref, label, kind = "mono") => el("a", { class: kind, href: place(ref) }, label);

// entry is a declaration in a list, with where it is and what it has to do with what is shown.
export function entry(e, from) {
  const at = (e.repository === from ? "" : e.repository + ": ") + e.path + ":" + e.line;
  const lines = e.lines?.length ? (e.lines.length === 1 ? "at line " : "at lines ") + e.lines.join(", ") : "";
  return el("li", null, link(e, e.title), " ",
    el("span", { class: "faint" }, [at, e.how, lines].filter(Boolean).join(" · ")),
    e.summary ? el("p", { class: "about" }, e.summary) : null);
}
