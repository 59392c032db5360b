// What the calls of a node were given and returned, as far as it was observed: a
// table with a row for each call.

import { el, plural } from "./dom.js";
import { observedTable } from "./observed.js";

// values returns the elements for node i; observed is what data.values gave.
export function values(model, i, observed) {
  if (!observed) return [];
  const lists = model.was ? [["in the first run", observed.before], ["in the second run", observed.now]] : [["", observed.now]];
  return [el("section", { class: "observed", "aria-label": "Observed values" },
    model.other[i] ? el("p", { class: "other-value" }, model.other[i]) : null,
    ...lists.filter(([, calls]) => calls?.length).map(([where, calls]) =>
      el("details", { open: true },
        el("summary", null, plural(calls.length, "observed call") + (where ? " " + where : "")),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values " + where }, observedTable(calls)))))];
}
