// Lines of source as the server has them: pairs of a class and a text.

import { el } from "./dom.js";

// sourceLine makes a line of source. called are what it calls: where an identifier is the name
// of one of them, link makes an element of it and the text. rest are elements behind the line for those left over.
export function sourceLine(line, pieces, called, { name, link, rest, kind = "", title }) {
  const left = [...called], out = [];
  for (let k = 0; k < pieces.length; k += 2) {
    const [type, text] = [pieces[k], pieces[k + 1]];
    const at = type === "f" || type === "i" ? left.findIndex((c) => name(c) === text) : -1;
    if (at >= 0) out.push(link(left.splice(at, 1)[0], text));
    else out.push(type ? el("span", { class: "t-" + type }, text) : text);
  }
  return el("div", { class: "line" + (called.length ? " called" : "") + kind, "data-line": line, title },
    el("span", { class: "no", "aria-hidden": "true" }, String(line)),
    el("span", { class: "text" }, ...out, ...(rest ? left.map(rest) : [])));
}

// linesCalled gathers calls by the lines on which they are.
export function linesCalled(callees) {
  const at = new Map();
  for (const c of callees ?? []) for (const line of c.lines ?? []) at.has(line) ? at.get(line).push(c) : at.set(line, [c]);
  return at;
}

// lastName is the identifier by which a declaration is called: "Row" of "table.(*T).Row".
export const lastName = (title) => title.split(".").pop();
