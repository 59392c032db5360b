// What is known of the source without a run: of which state an answer is, and what
// makes it newer.

import { el } from "./dom.js";
import { data } from "./data.js";

// known says of which state of the source an answer is. again asks for the answer anew.
export function known(state, again) {
  const box = el("div", { class: "known" });
  const button = (label, waits, work, props) => el("button", { type: "button", ...props, onclick: async (e) => {
    const b = e.currentTarget;
    b.disabled = true;
    box.querySelector('[role="status"]').textContent = waits;
    try {
      await work();
      await again();
    } catch (err) {
      b.disabled = false;
      box.querySelector('[role="status"]').textContent = "";
      box.append(el("p", { class: "error", role: "alert" }, err.message));
    }
  } }, label);
  if (state.unknown) {
    box.append(el("p", null, "Nothing of the source is indexed yet: ", el("code", null, "tracerag index"), " does that, once. "),
      button("Index it now", "Indexing … large modules take some seconds.", () => data.index(), { class: "index" }),
      el("span", { class: "hint", role: "status" }));
    return box;
  }
  const of = (state.of ?? []).map((r) => [r.repository, r.snapshot].filter(Boolean).join(" "));
  const shown = of.slice(0, 4).join(", ") + (of.length > 4 ? `, and ${of.length - 4} more` : "");
  box.append(el("p", { class: "hint" }, "Source of ", el("span", { class: "mono", title: of.join("\n") }, shown), " ",
    button("Refresh", "Reading what changed …", () => data.refresh(), { class: "link", title: "Read all that changed since it was indexed" }), " ",
    el("span", { role: "status" })));
  if (state.stale?.length) box.append(el("ul", { class: "note", "aria-label": "What is stale" }, ...state.stale.map((s) => el("li", null, "stale: " + s))));
  return box;
}
