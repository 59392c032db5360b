// The source of one function, as it was called at one node: its executed calls
// lead to the nodes of the callees.

import { el, copy, number } from "./dom.js";
import { changeWords, changes, mark } from "./model.js";
import { sourceLine } from "./source.js";
import { values } from "./values.js";
import { data } from "./data.js";

export class Code {
  #model; #go; #panel; #unit;
  #texts = new Map(); // promises of sources, by function
  #shown = 0; // the last that was asked for

  // unit is who shows declarations in the same panel; null: nobody does.
  constructor(model, panel, go, unit) {
    this.#model = model;
    this.#unit = unit;
    this.#panel = panel;
    this.#go = go;
    panel.append(el("p", { class: "empty" }, "Choose a call in the tree to read the function that was called."));
  }

  #text(fn) {
    if (!this.#texts.has(fn)) {
      const text = data.source(fn);
      text.catch(() => this.#texts.delete(fn));
      this.#texts.set(fn, text);
    }
    return this.#texts.get(fn);
  }

  // leave is told that the panel is somebody else's now.
  leave() { this.#shown++; }

  // show shows the function of node i; line is scrolled to, and fn another
  // function than the node's, such as that of the first run.
  async show(i, line, fn = this.#model.func[i]) {
    const turn = ++this.#shown;
    this.#unit?.leave();
    const [text, observed] = await Promise.all([
      this.#text(fn).catch((err) => ({ note: err.message })),
      this.#model.marks[i] & mark.observed ? data.values(i).catch(() => undefined) : undefined,
    ]);
    if (turn !== this.#shown) return;
    const body = this.#body(i, fn, text);
    this.#panel.replaceChildren(this.#head(i, fn, text), ...values(this.#model, i, observed), body);
    this.#panel.scrollTop = 0;
    if (line) {
      const at = body.querySelector(`[data-line="${line}"]`);
      at?.classList.add("cited");
      at?.scrollIntoView({ block: "center" });
    }
  }

  #head(i, fn, text) {
    const m = this.#model, f = m.functions[fn];
    const place = text.place ? text.place + (text.decl ? ":" + text.decl : "") : f.at;
    const path = m.path(i).slice(0, -1);
    const shown = path.length > 6 ? [path[0], -1, ...path.slice(-4)] : path;
    const change = m.change?.[i] ?? 0;
    const callers = this.#others(i);
    return el("header", { class: "function" },
      path.length ? el("nav", { class: "path", "aria-label": "Callers" }, ...shown.map((p) =>
        p < 0 ? el("span", { class: "skip" }, "…") : el("button", { type: "button", class: "link", onclick: () => this.#go(p) }, m.name(p)))) : null,
      el("h2", null, f.name),
      el("p", { class: "place" },
        place ? el("button", { type: "button", class: "link mono", title: "Copy the position", onclick: (e) => copy(e.currentTarget, place) }, place) : null,
        el("span", null, m.sampled ? number(m.calls[i]) + " samples here" : m.countText(i) + (m.countText(i) === "1" ? " call here" : " calls here")),
        change ? el("span", { class: "badge " + changes[change] }, changeWords[change]) : null,
        ...m.words(i).map(([word, meaning]) => el("span", { class: "mark is-" + word, title: meaning }, word)),
        m.was && m.was[i] >= 0 && m.was[i] !== m.func[i] ? el("span", null,
          el("button", { type: "button", class: "link", onclick: () => this.show(i, 0, fn === m.was[i] ? m.func[i] : m.was[i]) },
            fn === m.was[i] ? "as in the second run" : "as in the first run")) : null,
        callers.length ? el("label", { class: "elsewhere" }, "also called by ", this.#chooser(callers)) : null,
        this.#unit ? el("button", { type: "button", class: "link in-source", onclick: () => this.#unit.show({ func: fn }) }, "In the source: callers, tests") : null),
      text.idle?.includes("n") ? el("p", { class: "hint" }, "Pale lines did not run, in any call of the function.") : null,
      text.note ? el("p", { class: "note" }, text.note + ".") : null);
  }

  // others are the other nodes of the same function.
  #others(i) {
    const m = this.#model, out = [];
    for (let k = 0; k < m.size && out.length < 200; k++) if (k !== i && m.func[k] === m.func[i]) out.push(k);
    return out;
  }

  #chooser(nodes) {
    const m = this.#model;
    return el("select", { onchange: (e) => e.target.value && this.#go(Number(e.target.value)) },
      el("option", { value: "" }, nodes.length + (nodes.length === 200 ? "+" : "")),
      ...nodes.map((k) => el("option", { value: k }, `#${m.id[k]} ` + (m.parent[k] < 0 ? "root" : m.name(m.parent[k])))));
  }

  #body(i, fn, text) {
    const calls = this.#calls(i);
    const lines = (text.lines ?? []).map((pieces, k) => {
      const line = text.start + k;
      return this.#line(line, pieces, calls.get(line) ?? [], text.idle?.[k]);
    });
    const code = el("div", { class: "code", tabindex: "0", role: "region", "aria-label": "Source of " + this.#model.functions[fn].name }, ...lines);
    const elsewhere = [...calls].filter(([line]) => line < text.start || line >= text.start + lines.length || !lines.length).flatMap(([, list]) => list);
    if (!elsewhere.length) return code;
    return el("div", null, code, el("section", { class: "rest" },
      el("h3", null, "Calls without a line of this text"), el("ul", null, ...[...new Set(elsewhere)].map((c) => el("li", null, this.#link(c))))));
  }

  // calls are the children of a node by the lines on which it calls them.
  #calls(i) {
    const m = this.#model, at = new Map();
    const add = (line, c) => at.has(line) ? at.get(line).push(c) : at.set(line, [c]);
    for (const c of m.children(i)) {
      const lines = m.lines[c]?.length ? m.lines[c] : [0];
      for (const line of lines) add(line, c);
    }
    return at;
  }

  #link(c, label) {
    const m = this.#model;
    return el("button", { type: "button", class: "call" + (label ? "" : " aside") + (m.change?.[c] ? " " + changes[m.change[c]] : ""),
      title: `${m.name(c)}, ${m.countText(c)}×: go there`, onclick: () => this.#go(c) }, label ?? m.name(c) + (m.calls[c] === 1 ? "" : " ×" + m.countText(c)));
  }

  // line makes a line of source. An identifier that is the name of a callee leads
  // there; callees without one (closures, calls through others) stand at the end.
  #line(line, pieces, callees, state) {
    return sourceLine(line, pieces, callees, {
      name: (c) => bareName(this.#model.name(c)), link: (c, text) => this.#link(c, text), rest: (c) => this.#link(c),
      kind: state === "n" ? " idle" : "", title: state === "n" ? "did not run" : undefined,
    });
  }
}

// bareName is the identifier by which a function is called: "Render" of
// "table.(*Table).Render[int]".
const bareName = (name) => name.replace(/\[.*\]$/, "").replace(/-fm$/, "").split(".").pop();
