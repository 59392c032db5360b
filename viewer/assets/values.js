// What the calls of a node were given and returned, as far as it was observed: a
// table with a row for each call.

import { el, plural } from "./dom.js";

// values returns the elements for node i; observed is what data.values gave.
export function values(model, i, observed) {
  if (!observed) return [];
  const lists = model.was ? [["in the first run", observed.before], ["in the second run", observed.now]] : [["", observed.now]];
  return [el("section", { class: "observed", "aria-label": "Observed values" },
    model.other[i] ? el("p", { class: "other-value" }, model.other[i]) : null,
    ...lists.filter(([, calls]) => calls?.length).map(([where, calls]) =>
      el("details", { open: true },
        el("summary", null, plural(calls.length, "observed call") + (where ? " " + where : "")),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values " + where }, table(calls)))))];
}

// table has a column for each argument and result, by those of the first call: the
// calls of a node are of one function.
function table(calls) {
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
