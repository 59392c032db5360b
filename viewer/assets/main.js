// What happens on the page as a whole.

import { el, byID, number, plural } from "./dom.js";
import { theme } from "./theme.js";
import { data } from "./data.js";
import { Model } from "./model.js";
import { Tree } from "./tree.js";
import { Unit } from "./unit.js";
import { Code } from "./code.js";
import { Graph } from "./graph.js";
import { Prompt } from "./prompt.js";
import { Ranked } from "./ranked.js";

const tabs = [...document.querySelectorAll('[role="tab"]')];
const panels = { source: byID("panel-source"), graph: byID("panel-graph"), prompt: byID("panel-prompt"), run: byID("panel-run") };
let graph;

function show(tab) {
  document.body.dataset.tab = tab;
  for (const t of tabs) {
    const on = t.dataset.tab === tab;
    t.setAttribute("aria-selected", String(on));
    t.tabIndex = on ? 0 : -1;
  }
  // Beside the tree stands what was there before.
  if (panels[tab]) for (const [name, panel] of Object.entries(panels)) panel.hidden = name !== tab;
  graph?.draw();
}

for (const t of tabs) {
  t.addEventListener("click", () => show(t.dataset.tab));
  t.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const seen = tabs.filter((x) => x.offsetParent);
    const to = seen[(seen.indexOf(t) + step + seen.length) % seen.length];
    show(to.dataset.tab);
    to.focus();
  });
}

theme(() => graph?.draw());

// The divider is moved by the mouse and by arrow keys.
const divider = byID("divider");
function width(percent) {
  percent = Math.max(18, Math.min(75, percent));
  document.documentElement.style.setProperty("--calls-width", percent + "%");
  divider.setAttribute("aria-valuenow", String(Math.round(percent)));
  graph?.draw();
}
divider.addEventListener("pointerdown", (e) => {
  divider.setPointerCapture(e.pointerId);
  divider.onpointermove = (e) => width((100 * e.clientX) / innerWidth);
});
divider.addEventListener("pointerup", () => (divider.onpointermove = null));
divider.addEventListener("keydown", (e) => {
  const step = { ArrowLeft: -3, ArrowRight: 3 }[e.key];
  if (step) width(Number(divider.getAttribute("aria-valuenow")) + step);
});
width(42);

function banner(...what) {
  byID("banner").replaceChildren(...what);
  byID("banner").hidden = !what.length;
}

// differences are the controls that lead through what differs.
function differences(model, tree) {
  const step = (label, by) => el("button", { type: "button", class: "quiet", "aria-label": label + " difference", onclick: () => tree.next(by, model.differs) }, label);
  return el("span", { class: "steps" }, step("Previous", -1), step("Next", 1),
    el("label", null, el("input", { type: "checkbox", id: "only", onchange: (e) => tree.differences(e.target.checked) }), " only differences"));
}

function runs(overview) {
  return overview.runs.map((r, k) => el("section", null,
    el("h2", null, overview.runs.length > 1 ? `Run ${"AB"[k]}: ${r.title}` : r.title),
    el("dl", { class: "facts" }, el("dt", null, "trace"), el("dd", { class: "mono" }, r.id),
      ...r.facts.flatMap((f) => [el("dt", null, f.name), el("dd", null, /^\d+$/.test(f.value) ? number(Number(f.value)) : f.value)])),
    r.notes?.length ? el("div", null, el("h3", null, "What this lacks"), el("ul", null, ...r.notes.map((n) => el("li", null, n)))) : null));
}

async function start() {
  const overview = await data.overview();
  const model = new Model(overview);
  document.title = overview.title + " · tracerag";
  byID("command").textContent = overview.title.replace(/^[^\s'"]*\//, ""); // the directory of a program is known, or is of no use
  byID("command").title = overview.title;
  byID("summary").textContent = plural(model.size, "node") + " · " + plural(model.functions.length, "function");
  if (overview.sampled) byID("head-calls").textContent = "samples";
  panels.run.append(...runs(overview));
  if (data.omitted?.length) panels.run.append(el("section", null, el("h3", null, "Left out of this report"), el("ul", null, ...data.omitted.map((o) => el("li", null, o)))));

  const narrow = matchMedia("(max-width: 760px)");
  const go = (i, line) => { tree.reveal(i, true); select(i, line); };
  const unit = overview.in_source ? new Unit(model, panels.source, go, () => code.leave()) : null;
  const code = new Code(model, panels.source, go, unit);
  const select = (i, line, keep) => {
    code.show(i, line);
    graph.mark(i);
    if (!keep && document.body.dataset.tab !== "graph") show("source");
  };
  // In a narrow window the tree is a view of its own: walking in it stays there.
  const tree = new Tree(model, (i, stay) => select(i, 0, stay || (narrow.matches && document.body.dataset.tab === "tree" && walking)), overview.start);
  let walking = false;
  byID("tree").addEventListener("keydown", () => (walking = true), true);
  byID("tree").addEventListener("pointerdown", () => (walking = false), true);
  graph = new Graph(model, panels.graph, (i) => { tree.reveal(i, true); graph.mark(i); code.show(i); });
  const prompt = new Prompt(overview, model, panels.prompt,
    (fn, line) => { const i = model.first.get(fn); if (i !== undefined) { tree.reveal(i, true); code.show(i, line, fn); graph.mark(i); show("source"); } },
    (account) => { model.setPrompt(account); tree.draw(); graph.draw(); },
    (question) => ranked.asked(question));
  const ranked = new Ranked(overview, model, (fn) => go(model.first.get(fn)), () => { show("prompt"); prompt.ask(); }, (question) => prompt.put(question),
    unit && ((ref) => { unit.show(ref); show("source"); }));

  const search = byID("search"), found = byID("found");
  search.addEventListener("input", () => {
    found.textContent = tree.search(search.value);
    if (byID("only")) byID("only").checked = false;
  });
  search.addEventListener("keydown", (e) => {
    if (e.key === "Enter") tree.next(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") { search.value = ""; found.textContent = tree.search(""); byID("tree").focus(); }
    else if (e.key === "ArrowDown") byID("tree").focus();
    else return;
    e.preventDefault();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { e.preventDefault(); search.focus(); search.select(); }
  });
  byID("expand").addEventListener("click", () => tree.openAll());
  byID("collapse").addEventListener("click", () => tree.closeAll());

  show(narrow.matches ? "tree" : "source");
  if (overview.diff) {
    const d = overview.diff;
    banner(el("span", { class: "words" }, el("strong", null, d.summary), d.why ? " · They part " + d.why + ". " : " · They are equal.",
      d.first >= 0 ? el("button", { type: "button", class: "link", onclick: () => go(d.first) }, "Go there") : "",
      d.first_other >= 0 ? " · The first other value: " : "",
      d.first_other >= 0 ? el("button", { type: "button", class: "link mono", onclick: () => go(d.first_other) }, overview.nodes.other[d.first_other] ?? "there") : ""),
      model.differs.includes(1) ? differences(model, tree) : "");
    if (d.first >= 0) { tree.reveal(d.first, true); select(d.first, 0, true); }
  } else if (model.size) {
    tree.begin(overview.start);
    select(overview.start, 0, true);
  } else {
    banner("The call tree is empty. ", ...(overview.runs[0].notes ?? []));
  }
  // The tree comes first, painted; counting tokens looks for every source.
  requestAnimationFrame(() => setTimeout(() => {
    performance.mark("painted");
    prompt.build();
  }));
}

start().catch((err) => banner(el("span", { class: "error" }, err.message)));
