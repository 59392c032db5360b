// The repositories that are known, one of them, and one of its files.

import { el, number, plural } from "./dom.js";
import { ask } from "./asking.js";
import { entry, link } from "./links.js";

// moment writes a time as people compare them: "2026-11-24 10:31 UTC".
export const moment = (t) => (t ? t.slice(0, 16).replace("T", " ") + " UTC" : "");

const states = { fresh: "fresh", stale: "stale", unknown: "not known" };
const stateWords = (r) => [r.state_note, r.checked ? "looked at " + moment(r.checked) : ""].filter(Boolean).join(", ");

// badge says whether a repository is as its files are now.
const badge = (r) => el("span", { class: "state is-" + r.state, title: stateWords(r) || null }, states[r.state]);

// repositories shows all of them.
export async function repositories() {
  const o = await ask("overview");
  const rows = o.repositories.map((r) => el("tr", null,
    el("th", { scope: "row" }, link({ repository: r.name }, r.name), el("span", { class: "place-of" }, r.place)),
    el("td", null, badge(r)),
    el("td", { class: "mono" }, r.snapshot || "no commit"),
    el("td", { class: "num" }, r.counts ? number(r.counts.functions) : ""),
    el("td", { class: "when" }, moment(r.files)),
    el("td", { class: "modules" }, (r.modules ?? []).slice(0, 3).join(", ") + (r.modules?.length > 3 ? `, and ${r.modules.length - 3} more` : ""))));
  return {
    title: "Repositories",
    overview: o,
    parts: [
      el("h2", { tabindex: "-1" }, plural(o.repositories.length + (o.more ?? 0), "repository", "repositories")),
      o.repositories.length ? el("div", { class: "scroll" }, el("table", { class: "repositories" },
        el("thead", null, el("tr", null, ...["repository", "state", "indexed as", "functions", "newest file", "modules"].map((h) => el("th", { scope: "col", class: h === "functions" ? "num" : null }, h)))),
        el("tbody", null, ...rows))) : el("p", { class: "empty" }, "Nothing is indexed yet: ", el("code", null, "tracerag index DIR"), " or ", el("code", null, "tracerag index URL"), " does that."),
      o.more ? el("p", { class: "hint" }, `and ${number(o.more)} more: a search finds these, too`) : null,
    ],
  };
}

// repository shows one.
export async function repository(at) {
  const r = await ask("repository", { repository: at.repository });
  const c = r.counts, words = stateWords(r);
  const fact = (name, value) => (value ? [el("dt", null, name), el("dd", null, value)] : []);
  const files = (f) => f.paths.map((path) => el("li", null, link({ repository: r.name, path }, path.split("/").pop())));
  return {
    title: r.name,
    parts: [
      el("h2", { tabindex: "-1", class: "mono" }, r.name),
      el("dl", { class: "facts" },
        ...fact("of", el("span", { class: "mono" }, r.place)),
        ...fact("indexed as", el("span", { class: "mono" }, r.snapshot || "no commit")),
        ...fact("state", el("span", null, badge(r), words ? " " + words : "", r.state === "stale" ? el("span", { class: "hint" }, " (shown is what was indexed)") : "")),
        ...fact("newest file", moment(r.files)),
        ...fact("modules", (r.modules ?? []).join(", ")),
        ...fact("units", `${plural(c.packages, "package")}, ${plural(c.files, "file")}, ${plural(c.declarations, "declaration")}, ${plural(c.functions, "function")} among them`),
        ...fact("unread", c.unread ? plural(c.unread, "file") + " could not be read" : ""),
        ...fact("calls", c.calls ? plural(c.calls, "call") + " in the source" : ""),
        ...fact("history", plural(c.commits, "commit"))),
      r.calls_note ? el("p", { class: "note" }, r.calls_note + ".") : null,
      el("h3", null, "Packages of the program"),
      el("div", { class: "packages" }, ...r.packages.map((f) => el("details", { open: r.packages.length <= 12 },
        el("summary", { class: "mono" }, f.package, el("span", { class: "faint" }, " " + plural(f.paths.length, "file"))),
        el("ul", null, ...files(f))))),
      r.more ? el("p", { class: "hint" }, `${number(r.more)} files are not listed: a search finds what is in them`) : null,
    ],
  };
}

// file shows what a file declares.
export async function file(at) {
  const f = await ask("file", { repository: at.repository, path: at.path });
  return {
    title: f.path,
    parts: [
      el("nav", { class: "path", "aria-label": "Way here" }, link({ repository: f.repository }, f.repository, ""), el("span", null, f.package)),
      el("h2", { tabindex: "-1", class: "mono" }, f.path),
      f.line ? el("p", { class: "does" }, f.line) : null,
      f.problem ? el("p", { class: "note" }, f.problem) : null,
      el("h3", null, plural(f.declares.length + (f.more ?? 0), "declaration")),
      el("ul", { class: "entries" }, ...f.declares.map((e) => entry({ ...e, how: [e.kind, e.how].filter(Boolean).join(", ") }, f.repository))),
      f.more ? el("p", { class: "hint" }, `and ${number(f.more)} more`) : null,
    ],
  };
}
