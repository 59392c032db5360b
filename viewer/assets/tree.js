// The call tree: only rows in sight have elements, however many are open. It
// follows the tree pattern of the ARIA Authoring Practices; the focus stays on the
// tree, which names the active row.

import { el, byID, number, brief, plural } from "./dom.js";
import { changes, changeSigns, changeWords } from "./model.js";

const rowHeight = 24;

// indentShare is the part of the width that the indentation may take.
const indentShare = 0.4;

export class Tree {
  #model; #select; #box; #space;
  #open; // by node
  #rows = []; // nodes that are shown, from the top
  #at; // by node: its row, -1 none
  #active = -1;
  #hits = null; // by node: found; null when nothing is searched
  #keep = null; // by node, while something is searched: 1 a hit or above one, 2 below one, too
  #before = null; // what was open before the search
  #typed = ""; #typedAt = 0;
  #queued = false;
  #levels = null; // of the rows in sight, where the indentation is not that of their depth
  #step = 12; // of the indentation, in pixels
  #gutter = 0; // in pixels, for how deep rows are
  #told = -1; // the row whose callers are named above

  // select is told which node was chosen, and whether the view is to stay. start is the
  // node that the tree opens at.
  constructor(model, select, start) {
    this.#model = model;
    this.#select = select;
    this.#open = new Uint8Array(model.size);
    this.#at = new Int32Array(model.size);
    this.#box = byID("tree");
    this.#space = el("div", { class: "space", role: "presentation" });
    this.#box.append(this.#space);
    this.#box.addEventListener("scroll", () => this.#queue(), { passive: true });
    this.#box.addEventListener("keydown", (e) => this.#key(e));
    this.#box.addEventListener("click", (e) => this.#click(e));
    new ResizeObserver(() => this.#queue()).observe(this.#box);
    this.#openFirst(start);
    this.#arrange();
  }

  get active() { return this.#active; }

  // openFirst opens the way to a node, and below it what fits on a screen or so, level by
  // level.
  #openFirst(start) {
    for (const i of this.#model.path(start).slice(0, -1)) this.#open[i] = 1;
    let level = start >= 0 ? [start] : [], shown = 1;
    while (level.length) {
      const next = [];
      for (const i of level) {
        const n = this.#model.count(i);
        if (!n || shown + n > 45) continue;
        this.#open[i] = 1;
        shown += n;
        next.push(...this.#model.children(i));
      }
      level = next;
    }
  }

  // arrange lists the rows anew.
  #arrange() {
    const m = this.#model, rows = [];
    this.#at.fill(-1);
    for (let i = 0; i < m.size; ) {
      if (this.#keep && !this.#keep[i]) { i = m.end[i]; continue; }
      this.#at[i] = rows.length;
      rows.push(i);
      i = this.#open[i] ? i + 1 : m.end[i];
    }
    this.#rows = rows;
    this.#space.style.height = rows.length * rowHeight + "px";
    this.#draw();
  }

  #queue() {
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => { this.#queued = false; this.#draw(); });
  }

  draw() { this.#queue(); }

  #draw() {
    const top = this.#box.scrollTop, height = this.#box.clientHeight || 600;
    const first = Math.max(0, Math.min(Math.floor(top / rowHeight), this.#rows.length - 1));
    const from = Math.max(0, first - 2);
    const to = Math.min(this.#rows.length, Math.ceil((top + height) / rowHeight) + 8);
    this.#layout(first, to);
    this.#above(first);
    const list = [];
    for (let r = from; r < to; r++) list.push(this.#row(this.#rows[r], r));
    const active = this.#at[this.#active];
    // The active row has an element even out of sight, as aria-activedescendant
    // refers to it.
    if (this.#active >= 0 && active >= 0 && (active < from || active >= to)) list.push(this.#row(this.#active, active));
    this.#space.replaceChildren(...list);
    if (this.#active >= 0 && active >= 0) this.#box.setAttribute("aria-activedescendant", "n" + this.#active);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  // layout decides how far the rows in sight are indented. Each is one step further than
  // its caller, if that is in sight. Where the tree is so deep that this would take too much
  // of the width, rows whose caller is out of sight begin at the left, the shallower ones
  // further to the left, and say how deep they are.
  #layout(first, to) {
    const m = this.#model, step = innerWidth < 760 ? 8 : 12, room = (this.#box.clientWidth || 540) * indentShare;
    let deepest = 0;
    for (let r = first; r < to; r++) deepest = Math.max(deepest, m.depth[this.#rows[r]]);
    this.#levels = null;
    this.#gutter = 0;
    this.#step = step;
    if (deepest * step <= room) return;
    const levels = (this.#levels = new Map()), orphans = new Set(), outer = new Set();
    const path = []; // rows in sight above the one at hand
    for (let r = first; r < to; r++) {
      const i = this.#rows[r], d = m.depth[i];
      while (path.length && m.depth[path[path.length - 1]] >= d) path.pop();
      if (!path.length) { orphans.add(i); outer.add(d); }
      path.push(i);
    }
    const left = [...outer].sort((a, b) => a - b);
    let most = 1;
    for (let r = first; r < to; r++) {
      const i = this.#rows[r];
      const level = orphans.has(i) ? left.indexOf(m.depth[i]) : levels.get(m.parent[i]).level + 1;
      const before = r > first ? this.#rows[r - 1] : -1;
      levels.set(i, { level, told: orphans.has(i) && !(orphans.has(before) && m.depth[before] === m.depth[i]) && m.depth[i] > 0 });
      most = Math.max(most, level);
    }
    this.#gutter = 7 * (String(deepest).length + 1);
    this.#step = Math.max(2, Math.min(step, Math.floor(room / most)));
  }

  // above names the callers of the first row, as far as they are out of sight.
  #above(first) {
    const m = this.#model, box = byID("above"), row = this.#rows[first];
    const path = first > 0 && row !== undefined ? m.path(row).slice(0, -1) : [];
    box.hidden = !path.length;
    if (!path.length || this.#told === row) { this.#told = path.length ? row : -1; return; }
    this.#told = row;
    const near = path.slice(-3);
    box.replaceChildren(...[path.length > 3 ? el("span", { class: "faint" }, plural(path.length - 3, "caller") + " ›") : null,
      ...near.map((p) => el("button", { type: "button", class: "link", title: m.name(p), onclick: () => this.reveal(p) }, m.name(p)))].filter(Boolean));
  }

  #row(i, r) {
    const m = this.#model, fn = m.fn(i), open = this.#open[i] === 1;
    const change = m.change?.[i] ?? 0;
    const tokens = m.tokens ? m.tokens[i] : -1;
    const cut = fn.name.indexOf(".", fn.name.lastIndexOf("/", fn.name.search(/[[(]|$/)) + 1) + 1;
    const words = m.words(i);
    const label = [fn.name, changeWords[change], m.countText(i) + (m.sampled ? " samples" : m.calls[i] === 1 ? " call" : " calls"),
      ...words.map((w) => w[0]), m.other[i] ? "other values" : "", tokens > 0 ? number(tokens) + " tokens" : ""].filter(Boolean).join(", ");
    const place = this.#levels ? this.#levels.get(i) ?? { level: 0 } : { level: m.depth[i] };
    const row = el("div", {
      id: "n" + i, role: "treeitem", class: "row" + (change ? " " + changes[change] : m.other[i] ? " other" : "") + (m.elided(i) ? " elided" : ""), "aria-label": label,
      "aria-level": m.depth[i] + 1, "aria-setsize": m.count(m.parent[i]), "aria-posinset": m.place[i],
      "aria-expanded": m.hasChildren(i) ? String(open) : undefined,
      "aria-selected": String(i === this.#active), title: [`#${m.id[i]} ${fn.package}`, `${fn.name} ${fn.at ?? ""}`, m.other[i]].filter(Boolean).join("\n"),
    },
      place.told ? el("span", { class: "level", "aria-hidden": "true", title: plural(m.depth[i], "caller") + " above" }, m.depth[i] + "|") : null,
      el("span", { class: "twist" }, m.hasChildren(i) ? (open ? "▾" : "▸") : ""),
      change || m.other[i] ? el("span", { class: "sign" }, changeSigns[change] || "=") : null,
      el("span", { class: "name" + (this.#hits?.[i] ? " hit" : "") }, el("bdi", { dir: "ltr" },
        el("span", { class: "package" }, fn.name.slice(0, cut)), el("span", { class: fn.main ? "own" : "" }, fn.name.slice(cut)))),
      ...words.map(([word, meaning]) => el("span", { class: "mark is-" + word, title: meaning }, word)),
      el("span", { class: "num calls-cell" + (m.calls[i] === 1 && !change ? " one" : "") }, m.countText(i)),
      el("span", { class: "num tokens-cell" }, tokens > 0 ? (tokens < 1e5 ? number(tokens) : brief(tokens)) : ""),
    );
    row.style.transform = `translateY(${r * rowHeight}px)`;
    row.style.setProperty("--indent", place.level * this.#step + "px");
    row.style.setProperty("--step", this.#step + "px");
    row.style.setProperty("--gutter", this.#gutter + "px");
    return row;
  }

  // begin goes to the node that the tree opens at, with its next callers above it.
  begin(i) {
    this.reveal(i, true);
    this.#box.scrollTop = Math.max(0, this.#at[i] - 3) * rowHeight;
    this.#draw();
  }

  // reveal makes a node active, opens the way to it and scrolls to it.
  reveal(i, quiet) {
    if (this.#keep && !this.#keep[i]) this.#clear();
    let changed = false;
    for (let p = this.#model.parent[i]; p >= 0; p = this.#model.parent[p]) {
      if (!this.#open[p]) { this.#open[p] = 1; changed = true; }
    }
    this.#active = i;
    if (changed || this.#at[i] < 0) this.#arrange();
    this.#scrollTo(i);
    this.#draw();
    if (!quiet) this.#select(i);
  }

  #scrollTo(i) {
    const y = this.#at[i] * rowHeight, box = this.#box;
    // What is far away comes into the upper half, with what is around it.
    if (y < box.scrollTop - 2 * rowHeight || y > box.scrollTop + box.clientHeight + rowHeight) box.scrollTop = y - Math.floor(box.clientHeight / 3);
    else if (y < box.scrollTop) box.scrollTop = y;
    else if (y + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * rowHeight - box.clientHeight;
  }

  #toggle(i, open = !this.#open[i]) {
    if (!this.#model.hasChildren(i) || this.#open[i] === Number(open)) return;
    this.#open[i] = Number(open);
    if (!open && this.#active > i && this.#active < this.#model.end[i]) this.#active = i;
    this.#arrange();
  }

  openAll() {
    this.#open.fill(1);
    this.#arrange();
    if (this.#active >= 0) this.#scrollTo(this.#active);
  }

  closeAll() {
    this.#open.fill(0);
    if (this.#active >= 0) this.#active = this.#model.path(this.#active)[0];
    this.#arrange();
    this.#box.scrollTop = 0;
  }

  // search shows what is found, closed, and the way to it, and returns what to say.
  search(text) {
    if (!text.trim()) { this.#clear(); return ""; }
    const m = this.#model, functions = m.find(text);
    const nodes = this.#narrow(Uint8Array.from(m.func, (f, i) => functions.has(f) || functions.has(m.was?.[i])));
    return nodes ? plural(nodes, "call") + " of " + plural(functions.size, "function") : "nothing found";
  }

  // differences shows what differs between two runs, or everything again.
  differences(only) {
    if (!only) return this.#clear();
    this.#narrow(this.#model.differs);
  }

  // narrow shows the hits, closed, and the way to them. It returns their number.
  #narrow(hits) {
    const m = this.#model;
    this.#before ??= this.#open.slice();
    this.#hits = hits;
    const above = this.#open.fill(0); // is there a hit below?
    let nodes = 0, first = -1;
    for (let i = m.size - 1; i >= 0; i--) {
      if (this.#hits[i]) { nodes++; first = i; }
      if ((this.#hits[i] || above[i]) && m.parent[i] >= 0) above[m.parent[i]] = 1;
    }
    const keep = (this.#keep = above.map((a, i) => a || this.#hits[i]));
    for (let i = 0; i < m.size; i++) {
      // What is below a hit can be looked into, unless the way leads on to another.
      if ((this.#hits[i] && !above[i]) || (m.parent[i] >= 0 && keep[m.parent[i]] & 2)) keep[i] |= 2;
    }
    this.#arrange();
    if (first >= 0) {
      this.#active = first;
      this.#scrollTo(first);
      this.#draw();
      this.#select(first, true);
    }
    return nodes;
  }

  // next goes to the next hit, or with -1 to the one before: to what was found, or
  // given it to another set of nodes.
  next(step, hits = this.#hits) {
    if (!hits) return;
    const n = this.#model.size;
    for (let k = 1, i = this.#active; k <= n; k++) {
      i = (i + step + n) % n;
      if (hits[i]) return this.reveal(i);
    }
  }

  #clear() {
    if (!this.#hits) return;
    this.#open = this.#before;
    this.#hits = this.#keep = this.#before = null;
    for (let p = this.#active; p >= 0; p = this.#model.parent[p]) if (p !== this.#active) this.#open[p] = 1;
    this.#arrange();
    if (this.#active >= 0 && this.#at[this.#active] >= 0) this.#scrollTo(this.#active);
    this.#draw();
  }

  #click(e) {
    const row = e.target.closest(".row");
    if (!row) return;
    const i = Number(row.id.slice(1));
    if (e.target.closest(".twist") && this.#model.hasChildren(i)) {
      this.#active = i;
      return this.#toggle(i);
    }
    if (i === this.#active) this.#toggle(i);
    this.reveal(i);
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.#rows.length) return;
    const m = this.#model, i = this.#active, r = i < 0 ? -1 : this.#at[i], last = this.#rows.length - 1;
    const go = (row) => this.reveal(this.#rows[Math.max(0, Math.min(last, row))]);
    const page = Math.max(1, Math.floor(this.#box.clientHeight / rowHeight) - 1);
    switch (e.key) {
      case "ArrowDown": go(r + 1); break;
      case "ArrowUp": go(r - 1); break;
      case "PageDown": go(r + page); break;
      case "PageUp": go(r - page); break;
      case "Home": go(0); break;
      case "End": go(last); break;
      case "ArrowRight":
        if (i < 0) go(0);
        else if (m.hasChildren(i) && !this.#open[i]) this.#toggle(i, true);
        else if (m.hasChildren(i)) go(r + 1);
        break;
      case "ArrowLeft":
        if (i < 0) go(0);
        else if (m.hasChildren(i) && this.#open[i]) this.#toggle(i, false);
        else if (m.parent[i] >= 0) this.reveal(m.parent[i]);
        break;
      case "Enter": case " ":
        if (i >= 0) this.#toggle(i);
        break;
      case "*": // opens the siblings
        if (i >= 0) {
          for (const c of m.children(m.parent[i])) this.#open[c] = 1;
          this.#arrange();
        }
        break;
      default:
        if (e.key.length !== 1 || e.key === "/") return;
        this.#type(e.key);
    }
    e.preventDefault();
  }

  // type goes to the next row whose function begins with what is typed.
  #type(key) {
    const now = performance.now();
    this.#typed = now - this.#typedAt < 700 ? this.#typed + key : key;
    this.#typedAt = now;
    const want = this.#typed.toLowerCase();
    const from = Math.max(0, this.#at[this.#active] ?? 0) + (this.#typed.length > 1 ? 0 : 1);
    for (let k = 0; k < this.#rows.length; k++) {
      const i = this.#rows[(from + k) % this.#rows.length];
      const name = this.#model.name(i).toLowerCase();
      if (name.startsWith(want) || name.slice(name.indexOf(".") + 1).replace(/^\(\*?\w+\)\./, "").startsWith(want)) return this.reveal(i);
    }
  }
}
