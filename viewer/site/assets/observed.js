// Calls with the values that they were given and returned, as the server has them.

import { el } from "./dom.js";

// observedTable has a column for each argument and result, by those of the first call: the
// calls of a node are of one function.
export function observedTable(calls) {
  const args = calls[0].args ?? [], returned = calls.find((c) => c.results?.length), results = returned?.results ?? [];
  const head = (v, fallback) => el("th", { scope: "col" }, v.name || fallback, v.type ? el("span", { class: "type" }, " " + v.type) : null);
  return el("table", null,
    el("thead", null, el("tr", null, el("th", { scope: "col", class: "faint" }, "#"),
      ...args.map((v, k) => head(v, "argument " + (k + 1))),
      ...results.map((v, k) => head(v, results.length > 1 ? "result " + (k + 1) : "result")))),
    el("tbody", null, ...calls.map((c, k) => el("tr", null, el("th", { scope: "row", class: "faint" }, String(k + 1)),
      ...args.map((_, a) => cell(c.args?.[a])),
      ...(c.returned ? results.map((_, r) => cell(c.results?.[r], "result")) : [el("td", { class: "faint", colspan: Math.max(1, results.length) }, "did not return")])))));
}

function cell(v, kind) {
  if (!v || v.unread) return el("td", { class: "faint" }, v?.unread ?? "");
  return el("td", { class: kind, title: v.text }, v.text + (v.cut ? " …" : ""));
}
