// A question, and the functions that it is about: who does not know a name begins here.

import { el, byID, copy, plural } from "./dom.js";
import { data } from "./data.js";
import { known } from "./known.js";

export class Ranked {
  #model; #go; #ask; #more; #open; #input; #box; #turn = 0;
  #inSource = false; // what was asked last: about the source, not about the run

  // go is told which function was chosen, ask that the question is for the model, more
  // what was asked, and open which declaration was chosen; null: the source is not known.
  constructor(overview, model, go, ask, more, open) {
    this.#open = open;
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
    byID("locate").hidden = !open;
    byID("ask").addEventListener("submit", (e) => { e.preventDefault(); this.#submit(false); });
    byID("locate").addEventListener("click", () => this.#submit(true));
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

  #submit(inSource) {
    this.#inSource = inSource;
    this.#more(this.#input.value.trim());
    this.list();
  }

  // list shows what the question is about.
  async list() {
    const turn = ++this.#turn, question = this.#input.value.trim(), inSource = this.#inSource;
    if (!question) return this.#close();
    this.#box.hidden = false;
    this.#box.setAttribute("aria-label", inSource ? "What in the source the question is about" : "Functions that the question is about");
    this.#box.replaceChildren(el("p", { class: "hint", role: "status" }, inSource ? "Looking in the source …" : "Ranking the functions that ran …"));
    let rows;
    try {
      rows = inSource ? await data.locate(question) : await data.rank(question);
    } catch (err) {
      if (turn === this.#turn) this.#box.replaceChildren(el("p", { class: "error", role: "alert" }, err.message));
      return;
    }
    if (turn !== this.#turn) return;
    if (inSource) return this.#located(rows);
    const ran = rows.filter((r) => this.#model.first.has(r.func));
    this.#box.replaceChildren(this.#head(ran.length ? plural(ran.length, "function") + ", the best first" : "No function has words of this question."),
      ...(ran.length ? [el("ol", null, ...ran.map((r) => this.#row(r)))] : []));
  }

  #head(words) {
    return el("div", { class: "ranked-head" },
      el("span", { class: "hint", role: "status" }, words),
      data.live && this.model ? el("button", { type: "button", class: "link", onclick: () => this.#ask() }, "Ask " + this.model) : null,
      el("button", { type: "button", class: "quiet", "aria-label": "Close the list", title: "Close the list", onclick: () => this.#close() }, "×"));
  }

  // located shows what was found in the source: functions and files, the runs that executed
  // the best of them, and how to record one that does.
  #located(a) {
    const found = a.functions ?? [], record = a.record;
    const words = a.unknown ? "The source is not known." : found.length ? plural(found.length, "function") + " in the source, the best first" : "Nothing in the source has words of this question.";
    this.#box.replaceChildren(this.#head(words), el("div", { class: "located" },
      known(a, () => this.list()),
      found.length ? el("ol", { "aria-label": "Functions" }, ...found.map((f) => this.#place(f, f.name, `${f.path}:${f.line}` + (f.why ? " · " + f.why : "")))) : null,
      a.files?.length ? el("h3", null, "Files") : null,
      a.files?.length ? el("ol", { "aria-label": "Files" }, ...a.files.map((f) => this.#place(f, f.path, (f.functions ?? []).join(", ")))) : null,
      a.runs?.length ? el("h3", null, "Saved runs that executed some of the first") : null,
      a.runs?.length ? el("ul", null, ...a.runs.map((r) => el("li", null, r.text + ", ", el("span", { class: "mono" }, r.trace), r.here ? ", on this page" : ""))) : null,
      record ? el("h3", null, `To see ${found[0]?.name ?? "it"} run (the test ${record.why})`) : null,
      record ? el("p", { class: "shell" }, el("code", { title: record.line }, record.line),
        el("button", { type: "button", class: "quiet", "aria-label": "Copy the command", onclick: (e) => copy(e.currentTarget, record.line) }, "Copy")) : null));
  }

  #place(ref, name, why) {
    return el("li", null, el("button", { type: "button", title: `${ref.path}${ref.line ? ":" + ref.line : ""}`, onclick: (e) => { this.#current(e.currentTarget); this.#open({ ref: ref.ref }); } },
      el("span", { class: "ranked-name" }, el("bdi", null, name)), el("span", { class: "ranked-why" }, why)));
  }

  #row(r) {
    return el("li", null, el("button", { type: "button", onclick: (e) => this.#choose(e.currentTarget, r.func), title: r.position },
      el("span", { class: "ranked-name" }, el("bdi", null, r.name)), el("span", { class: "ranked-why" }, r.why || r.position || "")));
  }

  #choose(button, func) {
    this.#current(button);
    this.#go(func);
  }

  #current(button) {
    for (const b of this.#box.querySelectorAll("[aria-current]")) b.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
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
