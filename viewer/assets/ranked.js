// A question, and the functions that it is about: who does not know a name begins here.

import { el, byID, plural } from "./dom.js";
import { data } from "./data.js";

export class Ranked {
  #model; #go; #ask; #more; #input; #box; #turn = 0;

  // go is told which function was chosen, ask that the question is for the model, and more
  // what was asked.
  constructor(overview, model, go, ask, more) {
    this.#model = model;
    this.#go = go;
    this.#ask = ask;
    this.#more = more;
    this.#input = byID("about");
    this.#box = byID("ranked");
    this.#input.value = overview.draft.question;
    this.#input.disabled = !data.live;
    byID("ask").hidden = !data.live && !overview.draft.question;
    byID("rank").hidden = !data.live;
    byID("ask").addEventListener("submit", (e) => { e.preventDefault(); this.#more(this.#input.value.trim()); this.list(); });
    this.#input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown") this.#box.querySelector("li button")?.focus();
      else if (e.key === "Escape") this.#close();
      else return;
      e.preventDefault();
    });
    this.#box.addEventListener("keydown", (e) => this.#key(e));
    this.model = overview.model;
    if (overview.draft.question) this.list();
  }

  // asked is told of a question that was typed elsewhere.
  asked(question) {
    if (question === this.#input.value.trim()) return;
    this.#input.value = question;
    if (!this.#box.hidden) this.list();
  }

  // list shows what the question is about.
  async list() {
    const turn = ++this.#turn, question = this.#input.value.trim();
    if (!question) return this.#close();
    this.#box.hidden = false;
    this.#box.replaceChildren(el("p", { class: "hint", role: "status" }, "Ranking the functions that ran …"));
    let rows;
    try {
      rows = await data.rank(question);
    } catch (err) {
      if (turn === this.#turn) this.#box.replaceChildren(el("p", { class: "error", role: "alert" }, err.message));
      return;
    }
    if (turn !== this.#turn) return;
    const known = rows.filter((r) => this.#model.first.has(r.func));
    this.#box.replaceChildren(
      el("div", { class: "ranked-head" },
        el("span", { class: "hint", role: "status" }, known.length ? plural(known.length, "function") + ", the best first" : "No function has words of this question."),
        data.live && this.model ? el("button", { type: "button", class: "link", onclick: () => this.#ask() }, "Ask " + this.model) : null,
        el("button", { type: "button", class: "quiet", "aria-label": "Close the list", title: "Close the list", onclick: () => this.#close() }, "×")),
      ...(known.length ? [el("ol", null, ...known.map((r) => this.#row(r)))] : []));
  }

  #row(r) {
    return el("li", null, el("button", { type: "button", onclick: (e) => this.#choose(e.currentTarget, r.func), title: r.position },
      el("span", { class: "ranked-name" }, el("bdi", null, r.name)), el("span", { class: "ranked-why" }, r.why || r.position || "")));
  }

  #choose(button, func) {
    for (const b of this.#box.querySelectorAll("[aria-current]")) b.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    this.#go(func);
  }

  #close() {
    this.#turn++;
    this.#box.hidden = true;
    this.#box.replaceChildren();
    if (data.live) this.#input.focus();
  }

  #key(e) {
    const all = [...this.#box.querySelectorAll("li button")], at = all.indexOf(document.activeElement);
    if (e.key === "Escape") this.#close();
    else if (at < 0) return;
    else if (e.key === "ArrowDown") all[Math.min(at + 1, all.length - 1)].focus();
    else if (e.key === "ArrowUp") (all[at - 1] ?? this.#input).focus();
    else if (e.key === "Home") all[0].focus();
    else if (e.key === "End") all[all.length - 1].focus();
    else return;
    e.preventDefault();
  }
}
