// A declaration as its file is now, with what is around it: callers, callees, tests. It
// shows what did not run, too, and leads to where in the tree it did.

import { el, copy, number, plural } from "./dom.js";
import { data } from "./data.js";
import { known } from "./known.js";
import { lastName, linesCalled, sourceLine } from "./source.js";

export class Unit {
  #model; #panel; #go; #leave;
  #shown = 0; // the last that was asked for
  #before = []; // what was shown before, the last one last
  #now = null;

  // go is told which node was chosen, and leave that the panel is the source's now.
  constructor(model, panel, go, leave) {
    this.#model = model;
    this.#panel = panel;
    this.#go = go;
    this.#leave = leave;
  }

  // leave is told that the panel is somebody else's now.
  leave() {
    this.#shown++;
    this.#now = null;
    this.#before = [];
  }

  // show shows what a reference leads to: {ref}, a declaration or a file that an answer named, or
  // {func}, what a function of the page is compiled from.
  async show(ref, from = this.#now) {
    const turn = ++this.#shown;
    this.#leave();
    const inside = this.#panel.contains(document.activeElement);
    let u;
    try {
      u = await data.unit(ref);
    } catch (err) {
      if (turn === this.#shown) this.#failed(err);
      return;
    }
    if (turn !== this.#shown) return;
    if (from && from.ref !== ref) this.#before.push(from);
    this.#now = { ref, title: u.title ?? "" };
    const again = () => this.show(ref, null);
    this.#panel.replaceChildren(this.#head(u, again), ...this.#around(u), this.#body(u));
    this.#panel.scrollTop = 0;
    // Whoever came by a link of this panel goes on reading here.
    if (inside) this.#panel.querySelector("h2").focus({ preventScroll: true });
  }

  // failed leaves what is shown, and says beside it why nothing else is.
  #failed(err) {
    const head = this.#panel.querySelector("header") ?? this.#panel;
    head.querySelector(".error")?.remove();
    head.append(el("p", { class: "error", role: "alert" }, err.message));
  }

  #back() {
    const to = this.#before.pop();
    this.show(to.ref, null);
  }

  #head(u, again) {
    const place = u.path ? u.path + (u.line ? ":" + u.line : "") : "";
    const last = this.#before.at(-1);
    return el("header", { class: "function unit" },
      last ? el("nav", { class: "path", "aria-label": "Way here" }, el("button", { type: "button", class: "link", onclick: () => this.#back() }, "Back to " + (last.title || "the one before"))) : null,
      el("h2", { tabindex: "-1" }, u.title || "In the source"),
      place ? el("p", { class: "place" },
        el("button", { type: "button", class: "link mono", title: "Copy the position", onclick: (e) => copy(e.currentTarget, place) }, place),
        el("span", null, u.kind), ...(u.marks ?? []).map((m) => el("span", null, m)), ...this.#inTree(u)) : null,
      known(u, again),
      u.calls_note ? el("p", { class: "note" }, u.calls_note + ".") : null,
      u.note ? el("p", { class: "note" }, u.note + ".") : null);
  }

  // inTree leads to the nodes of the functions that are compiled from it.
  #inTree(u) {
    const m = this.#model, funcs = (u.funcs ?? []).filter((f) => m.first.has(f));
    const count = new Map();
    for (const f of m.func) count.set(f, (count.get(f) ?? 0) + 1);
    const most = 6;
    const out = funcs.slice(0, most).map((f, k) => el("button", { type: "button", class: "link in-tree", onclick: () => this.#go(m.first.get(f)) },
      k ? m.functions[f].name : "In the call tree", ` (${plural(count.get(f) ?? 1, "node")})`));
    if (funcs.length > most) out.push(el("span", null, `and ${funcs.length - most} literals in it`));
    if (!out.length && ["func", "method"].includes(u.kind)) out.push(el("span", null, "not in the call tree"));
    return out;
  }

  #around(u) {
    const links = (list) => (list ?? []).map((c) => this.#entry(c));
    const runs = (u.runs ?? []).map((r) => el("li", null, r.text + ", ", el("span", { class: "mono" }, r.trace), r.here ? ", on this page" : ""));
    return [
      this.#list("Also named so", links(u.also)),
      this.#list("Declares", links(u.declares)),
      this.#list("Callers", links(u.callers), u.more_callers),
      this.#list("Callees", links(u.callees), u.more_callees),
      this.#list("Saved runs that executed it", runs),
      this.#list("Tests that may execute it", links(u.tests)),
    ].filter(Boolean);
  }

  #list(title, items, more) {
    if (!items.length) return null;
    return el("details", { class: "around", open: items.length <= 8 },
      el("summary", null, `${title} (${number(items.length + (more ?? 0))})`),
      el("ul", null, ...items, more ? el("li", null, `and ${number(more)} more`) : null));
  }

  #entry(c) {
    const at = `${c.path}:${c.line}`, lines = c.lines?.length ? (c.lines.length === 1 ? "at line " : "at lines ") + c.lines.join(", ") : "";
    return el("li", null, this.#link(c, c.title, "link mono"), " ", el("span", { class: "faint" }, [at, c.how, lines].filter(Boolean).join(" · ")));
  }

  #link(c, label, kind) {
    return el("button", { type: "button", class: kind, title: `${c.title}, ${c.path}:${c.line}`, onclick: () => this.show({ ref: c.ref }) }, label);
  }

  #body(u) {
    const calls = linesCalled(u.callees);
    const lines = (u.lines ?? []).map((pieces, k) => sourceLine(u.start + k, pieces, calls.get(u.start + k) ?? [],
      { name: (c) => lastName(c.title), link: (c, text) => this.#link(c, text, "call") }));
    return el("div", { class: "code", tabindex: lines.length ? "0" : null, role: "region", "aria-label": "Source of " + (u.title ?? "") }, ...lines);
  }
}
