// A declaration: its source, what it does, what is around it, and what executed it.

import { copy, el, number, plural } from "./dom.js";
import { ask } from "./asking.js";
import { entry, link, place } from "./links.js";
import { observedTable } from "./observed.js";
import { moment } from "./repositories.js";
import { lastName, linesCalled, sourceLine } from "./source.js";

export async function declaration(at) {
  const ref = { repository: at.repository, path: at.path, symbol: at.symbol };
  const u = await ask("unit", ref);
  const values = el("div", { class: "values" });
  return {
    title: u.title,
    kind: "declaration",
    parts: [head(u), el("aside", { class: "sides" }, ...around(u, values)), values, source(u)],
  };
}

function head(u) {
  const position = u.path + ":" + u.line;
  return el("header", { class: "function" },
    el("nav", { class: "path", "aria-label": "Way here" }, link({ repository: u.repository }, u.repository, ""), link({ repository: u.repository, path: u.path }, u.path, "")),
    el("h2", { tabindex: "-1" }, u.title),
    u.summary ? el("p", { class: "does" }, u.summary) : null,
    el("p", { class: "place" },
      el("button", { type: "button", class: "link mono", title: "Copy the position", onclick: (e) => copy(e.currentTarget, position) }, position),
      el("span", null, [u.kind, ...(u.marks ?? [])].join(", ")),
      u.place ? el("span", null, "as of ", el("span", { class: "mono" }, u.place)) : null,
      el("button", { type: "button", class: "link", title: "Copy a link to this page; it has no token", onclick: (e) => copy(e.currentTarget, location.href) }, "Copy link")),
    u.calls_note ? el("p", { class: "note" }, u.calls_note + ".") : null,
    u.note ? el("p", { class: "note" }, u.note + ".") : null);
}

function around(u, values) {
  const entries = (list) => (list ?? []).map((e) => entry(e, u.repository));
  const callable = u.kind === "func" || u.kind === "method";
  return [
    list("Executed by", (u.executed ?? []).map((x) => execution(u, x, values)), u.more_executed ? "more of them: tracerag executed lists all" : "", true),
    callable && !u.executed?.length ? el("section", { class: "around" }, el("p", { class: "hint" }, "No run that is known executed it. ", el("code", null, "tracerag run"), " records one.")) : null,
    list("Callers", entries(u.callers), u.more_callers ? number(u.more_callers) + " more" : "", false, u.more_callers),
    list("Callees", entries(u.callees), u.more_callees ? number(u.more_callees) + " more" : "", false, u.more_callees),
    list("Tests that may execute it", entries(u.tests), u.more_tests ? "others" : ""),
  ].filter(Boolean);
}

function list(title, items, more, first, missing = 0) {
  if (!items.length) return null;
  const narrow = matchMedia("(max-width: 760px)").matches;
  return el("details", { class: "around", open: first || (!narrow && items.length <= 30) },
    el("summary", null, `${title} (${number(items.length + (missing || 0))}${more && !missing ? "+" : ""})`),
    el("ul", null, ...items, more ? el("li", { class: "faint" }, "and " + more) : null));
}

// execution is a test or a program that executed a function. Its values are asked for when somebody wants them.
function execution(u, x, values) {
  const button = el("button", { type: "button", class: "link", title: "Which values it was given and returned, if the run observed them", onclick: async () => {
    button.disabled = true;
    let shown;
    try {
      const v = await ask("values", { repository: u.repository, path: u.path, symbol: u.symbol, trace: x.trace });
      shown = el("section", { class: "observed", "aria-label": "Observed values" }, el("h3", null, "Values in " + x.what),
        v.calls.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values" }, observedTable(v.calls)) : el("p", { class: "hint" }, "This run observed no values of it: tracerag run --values does."),
        v.more ? el("p", { class: "hint" }, `the first ${v.calls.length} calls`) : null);
    } catch (err) {
      shown = el("p", { class: "error", role: "alert" }, err.message);
    }
    button.disabled = false;
    values.replaceChildren(shown);
    values.scrollIntoView({ block: "nearest" });
  } }, "Values");
  // A package says of which module it is, as a rule.
  const module = x.package?.startsWith(x.module) ? "" : x.module;
  const of = [x.package, module].filter(Boolean).join(" in ") + (x.commit ? " at " + x.commit : "");
  return el("li", { class: "execution" },
    el("span", { class: "mono" }, x.what), " ", el("span", { class: x.passed ? "passed" : "failed" }, x.passed ? "passed" : "failed"), " ", button,
    el("p", { class: "about" }, [of, plural(x.calls, "call"), moment(x.recorded), "trace " + x.trace].filter(Boolean).join(" · ")));
}

function source(u) {
  const calls = linesCalled(u.callees);
  const lines = (u.source ?? []).map((pieces, k) => sourceLine(u.start + k, pieces, calls.get(u.start + k) ?? [],
    { name: (c) => lastName(c.title), link: (c, text) => el("a", { class: "call", href: place(c), title: `${c.title}, ${c.path}:${c.line}` }, text) }));
  if (!lines.length) return null;
  return el("section", { class: "listing", tabindex: "0", "aria-label": "Source of " + u.title }, el("div", { class: "code" }, ...lines),
    u.cut ? el("p", { class: "note" }, plural(u.cut, "more line") + " not shown") : null);
}
