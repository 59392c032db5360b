// The icicle graph: each node as wide as its share, below its caller, in the order
// of first calls. Only what is at least a pixel wide is drawn, so that the size of
// the tree does not matter.

import { el, number } from "./dom.js";
import { changes } from "./model.js";

const boxHeight = 20;

export class Graph {
  #model; #go; #panel; #scroller; #space; #canvas; #tip; #crumbs; #unit;
  #by = "calls";
  #root = -1; // zoomed into; -1: everything
  #active = -1;
  #boxes = []; // what is drawn: x, y, width, node
  #queued = false;

  constructor(model, panel, go) {
    this.#model = model;
    this.#go = go;
    this.#panel = panel;
    this.#canvas = el("canvas", { role: "img", tabindex: "0", "aria-label": "Icicle graph of the call tree. Arrow keys go to the caller, the first callee and the neighbours; Enter zooms, Escape zooms out. The call tree has the same as text." });
    this.#space = el("div", { class: "space" }, this.#canvas);
    this.#scroller = el("div", { class: "graph" }, this.#space);
    this.#tip = el("p", { class: "tip", role: "status" });
    this.#crumbs = el("nav", { class: "path", "aria-label": "Zoom" });
    this.#unit = el("fieldset", { class: "choice" }, el("legend", { class: "offscreen" }, "Width by"),
      ...[["calls", model.sampled ? "Samples" : "Calls"], ["tokens", "Tokens"]].map(([value, label]) =>
        el("label", null, el("input", { type: "radio", name: "by", value, checked: value === "calls", onchange: () => { this.#by = value; this.draw(); } }), label)));
    panel.append(el("div", { class: "bar" }, this.#unit, this.#crumbs), this.#scroller, this.#tip);
    this.#canvas.addEventListener("mousemove", (e) => this.#hover(e));
    this.#canvas.addEventListener("mouseleave", () => this.#say(this.#active));
    this.#canvas.addEventListener("click", (e) => this.#click(e));
    this.#canvas.addEventListener("dblclick", (e) => { const i = this.#hit(e); if (i !== undefined) this.zoom(i); });
    this.#canvas.addEventListener("keydown", (e) => this.#key(e));
    this.#scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.#scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  get #values() { return this.#by === "tokens" && this.#model.tokens ? this.#model.tokens : this.#model.weights; }

  mark(i) {
    this.#active = i;
    if (this.#root >= 0 && !(i >= this.#root && i < this.#model.end[this.#root]) && !this.#model.path(this.#root).includes(i)) this.#root = -1;
    this.#say(i);
    this.draw();
  }

  zoom(i) {
    this.#root = i;
    this.draw();
  }

  draw() {
    if (this.#queued || this.#panel.hidden) return;
    this.#queued = true;
    requestAnimationFrame(() => { this.#queued = false; if (!this.#panel.hidden) this.#draw(); });
  }

  // layout lists the boxes: what stands above the root at full width, and then
  // what is wide enough.
  #layout(width) {
    const m = this.#model, v = this.#values, boxes = [];
    const above = this.#root < 0 ? [] : m.path(this.#root).slice(0, -1);
    above.forEach((i, y) => boxes.push({ x: 0, y, w: width, i, above: true }));
    const total = this.#root < 0 ? [...m.children(-1)].reduce((s, i) => s + v[i], 0) : v[this.#root];
    if (!total) return boxes;
    const scale = width / total;
    const stack = this.#root < 0 ? [] : [[this.#root, 0]];
    const push = (parent, x) => {
      let skipped = 0, from = x;
      const flush = (y) => {
        if (skipped * scale >= 1) boxes.push({ x: from, y, w: skipped * scale, i: -1 });
        skipped = 0;
      };
      const y = parent < 0 ? 0 : m.depth[parent] + 1;
      for (const c of m.children(parent)) {
        const w = v[c] * scale;
        if (w < 1) {
          if (!skipped) from = x;
          skipped += v[c];
        } else {
          flush(y);
          stack.push([c, x]);
        }
        x += w;
      }
      flush(y);
    };
    if (this.#root < 0) push(-1, 0);
    while (stack.length) {
      const [i, x] = stack.pop();
      boxes.push({ x, y: m.depth[i], w: v[i] * scale, i });
      push(i, x);
    }
    return boxes;
  }

  #draw() {
    const width = this.#scroller.clientWidth, height = this.#scroller.clientHeight, ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    this.#boxes = this.#layout(width);
    const depth = this.#boxes.reduce((d, b) => Math.max(d, b.y), 0) + 1;
    this.#space.style.height = Math.max(height, depth * boxHeight + 8) + "px";
    const canvas = this.#canvas, top = this.#scroller.scrollTop;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    const style = getComputedStyle(this.#panel), dark = style.getPropertyValue("color").match(/\d+/)?.[0] > 128;
    const colour = (name) => style.getPropertyValue("--" + name);
    const paint = { text: style.color, faint: colour("graph-skip"), accent: colour("accent") };
    const resolve = resolver(this.#panel);
    c.font = "12px " + style.getPropertyValue("--mono");
    c.textBaseline = "middle";
    for (const b of this.#boxes) {
      const y = b.y * boxHeight - top;
      if (y < -boxHeight || y > height) continue;
      c.globalAlpha = b.above ? 0.55 : 1;
      const gap = b.w > 3 ? 1 : b.w > 1.5 ? 0.5 : 0;
      c.fillStyle = b.i < 0 ? resolve(paint.faint) : this.#colour(b.i, dark, resolve);
      c.fillRect(b.x, y, Math.max(b.w - gap, 0.5), boxHeight - 1);
      if (b.i === this.#active) {
        c.strokeStyle = resolve(paint.accent);
        c.lineWidth = 2;
        c.strokeRect(b.x + 1, y + 1, Math.max(b.w - gap - 2, 1), boxHeight - 3);
      }
      if (b.i >= 0 && b.w > 28) {
        c.fillStyle = paint.text;
        c.fillText(fit(c, this.#model.name(b.i), b.w - 9), b.x + 4, y + boxHeight / 2);
      }
    }
    c.globalAlpha = 1;
    this.#drawCrumbs();
  }

  // colour is that of what changed, or of the package: quiet ones, the program's
  // own module in one colour.
  #colour(i, dark, resolve) {
    const m = this.#model, change = m.change?.[i];
    if (m.change) return resolve(`var(--graph-${changes[change]})`);
    const f = m.fn(i);
    if (f.main) return resolve("var(--graph-own)");
    let h = 0;
    for (const ch of f.package ?? "") h = (h * 31 + ch.charCodeAt(0)) >>> 0;
    const hue = [28, 75, 130, 265, 320, 350][h % 6] + (h % 5) * 3;
    return dark ? `hsl(${hue} 22% ${30 + (h % 3) * 3}%)` : `hsl(${hue} 42% ${84 - (h % 3) * 3}%)`;
  }

  #drawCrumbs() {
    const m = this.#model;
    const list = this.#root < 0 ? [] : m.path(this.#root).slice(-3);
    this.#crumbs.replaceChildren(
      this.#root >= 0 ? el("button", { type: "button", class: "link", onclick: () => this.zoom(-1) }, "everything") : el("span", { class: "hint" }, "Double-click or Enter zooms in"),
      ...list.map((i) => el("button", { type: "button", class: "link", onclick: () => this.zoom(i) }, m.name(i))));
  }

  #hit(e) {
    const r = this.#canvas.getBoundingClientRect();
    const x = e.clientX - r.left, y = e.clientY - r.top + this.#scroller.scrollTop;
    return this.#boxes.find((b) => b.i >= 0 && x >= b.x && x < b.x + b.w && y >= b.y * boxHeight && y < (b.y + 1) * boxHeight)?.i;
  }

  #hover(e) {
    const i = this.#hit(e);
    this.#canvas.style.cursor = i === undefined ? "default" : "pointer";
    this.#say(i ?? this.#active);
  }

  #say(i) {
    if (i === undefined || i < 0) { this.#tip.textContent = " "; return; }
    const m = this.#model;
    const parts = [m.name(i), number(m.weights[i]) + (m.sampled ? " samples" : " calls") + " here and below"];
    if (m.tokens) parts.push(m.tokens[i] ? number(m.tokens[i]) + " tokens" : "sources counted at earlier calls");
    this.#tip.textContent = parts.join(" · ");
  }

  #click(e) {
    const i = this.#hit(e);
    if (i !== undefined) this.#go(i);
  }

  #key(e) {
    const m = this.#model, i = this.#active;
    let to;
    if (i < 0) to = m.size ? 0 : undefined;
    else if (e.key === "ArrowUp") to = m.parent[i] >= 0 ? m.parent[i] : i;
    else if (e.key === "ArrowDown") to = m.hasChildren(i) ? i + 1 : i;
    else if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
      const all = [...m.children(m.parent[i])];
      to = all[all.indexOf(i) + (e.key === "ArrowRight" ? 1 : -1)] ?? i;
    } else if (e.key === "Enter") this.zoom(i);
    else if (e.key === "Escape") this.zoom(-1);
    else return;
    e.preventDefault();
    if (to !== undefined) this.#go(to);
  }
}

// resolver turns colours of the style sheet into such as a canvas takes.
function resolver(panel) {
  const probe = el("span", { class: "offscreen" }), known = new Map();
  panel.append(probe);
  queueMicrotask(() => probe.remove());
  return (colour) => {
    if (!known.has(colour)) {
      probe.style.color = colour;
      known.set(colour, getComputedStyle(probe).color);
    }
    return known.get(colour);
  };
}

// fit shortens a text to a width, by its fixed pitch.
function fit(c, text, width) {
  const most = Math.floor(width / c.measureText("0").width);
  return text.length <= most ? text : most < 2 ? "" : text.slice(0, most - 1) + "…";
}
