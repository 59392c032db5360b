// The rounds of a question: what was sent in each, and what the model wanted to read.

import { el, number } from "./dom.js";

// rounds returns the elements of the rounds so far; go is told where a source is.
export function rounds(list, go) {
  return list.map((r) => el("section", { class: "round", "aria-label": "Round " + r.number },
    el("h3", null, `Round ${r.number} of at most ${r.of}`, el("span", { class: "faint" }, ` ${number(r.tokens)} tokens`)),
    r.reads?.length
      ? el("p", null, "The model reads ", ...r.reads.flatMap((q, k) => [k ? ", " : "", read(q, go)]))
      : el("p", null, r.number > 1 ? "The model asked for nothing by name: the functions that words of the question match." : "The names of the functions that ran. The model says which sources it wants to read."),
    el("details", null, el("summary", null, "What was sent"),
      el("div", { class: "prompt-text", tabindex: "0", role: "region", "aria-label": "Prompt of round " + r.number }, el("pre", null, r.text)))));
}

function read(q, go) {
  if (q.func === undefined) return el("code", null, q.text);
  return el("button", { type: "button", class: "link mono", onclick: () => go(q.func, q.line) }, q.text);
}
