// What a search finds, and where a report leads.

import { byID, copy, el, plural } from "./dom.js";
import { ask } from "./asking.js";
import { entry, link } from "./links.js";

// search shows what has a name, and what has words.
export async function search(at) {
  const f = await ask("search", { text: at.text, repository: at.repository || undefined });
  const list = (title, entries) => (entries.length ? [el("h3", null, `${title} (${entries.length})`),
    el("ul", { class: "entries" }, ...entries.map((e) => entry({ ...e, how: [e.kind, e.how].filter(Boolean).join(", ") })))] : []);
  return {
    title: at.text,
    parts: [
      el("h2", { tabindex: "-1" }, at.repository ? `“${at.text}” in ${at.repository}` : `“${at.text}”`),
      ...list("Named so", f.named), ...list("With these words", f.words),
      f.named.length || f.words.length ? null : el("p", { class: "empty" }, "Nothing has this name or these words. ", el("a", { href: "#/locate" }, "Locate"), " takes a whole report."),
    ],
  };
}

// The last report stays while the page is open, so that the way back from a function leads to what was found.
let report = "", within = "", found = null;

// locate shows the form for a report, and where the last one leads.
export function locate(_, { repositories }) {
  const text = el("textarea", { id: "report", rows: 6, maxlength: 60000, "aria-label": "Report", spellcheck: "false",
    placeholder: "A bug report, an error, the output of a failing test or a stack trace. The first line is its title." });
  text.value = report;
  const where = el("select", { "aria-label": "In which repository" }, el("option", { value: "" }, "all repositories"),
    ...repositories.map((r) => el("option", { value: r.name }, r.name)));
  where.value = within;
  const button = el("button", { type: "submit", class: "primary" }, "Locate");
  const status = el("span", { class: "hint", role: "status" });
  const results = el("section", { id: "located", "aria-label": "Where the report leads" }, ...(found ? shown(found) : []));
  const form = el("form", { class: "report", onsubmit: async (e) => {
    e.preventDefault();
    [report, within] = [text.value, where.value];
    button.disabled = true;
    status.textContent = "Looking …";
    try {
      found = await ask("locate", { text: report, repository: within || undefined });
      results.replaceChildren(...shown(found));
      status.textContent = plural(found.functions.length, "function");
    } catch (err) {
      status.textContent = "";
      results.replaceChildren(el("p", { class: "error", role: "alert" }, err.message));
    }
    button.disabled = false;
    if (!byID("report")) location.reload(); // a token was asked for in between
  } }, text, el("div", { class: "buttons" }, button, where, status));
  text.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit(); });
  return {
    title: "Locate",
    focus: text,
    parts: [el("h2", null, "Locate a report"), el("p", { class: "hint" }, "Lists what the report is about, with reasons. No model is asked, and nothing is run."), form, results],
  };
}

function shown(f) {
  const list = (title, places, label) => (places.length ? [el("h3", null, title), el("ol", { class: "entries", "aria-label": title }, ...places.map((p) =>
    el("li", null, link(p, p.title), " ", el("span", { class: "faint" }, label(p)), p.why ? el("p", { class: "about" }, p.why) : null)))] : []);
  return [
    ...list("Functions", f.functions, (p) => `${p.repository}: ${p.path}:${p.line} · ${p.score.toFixed(2)}`),
    ...list("Files", f.files, (p) => `${p.repository} · ${p.score.toFixed(2)}`),
    ...list("Repositories", f.repositories, (p) => p.score.toFixed(2)),
    ...(f.runs?.length ? [el("h3", null, "Runs that executed some of them"), el("ul", { class: "entries" }, ...f.runs.map((r) => el("li", null, r)))] : []),
    f.record ? el("p", { class: "shell" }, `To see ${f.functions[0]?.title ?? "it"} run (the test ${f.record.why}):`, el("code", null, f.record.line),
      el("button", { type: "button", class: "quiet", onclick: (e) => copy(e.currentTarget, f.record.line) }, "Copy")) : null,
    ...(f.notes ?? []).map((n) => el("p", { class: "note" }, n + ".")),
    f.functions.length ? null : el("p", { class: "empty" }, "Nothing matches the report."),
  ].filter(Boolean);
}
