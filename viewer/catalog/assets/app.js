// What happens on the page as a whole: which view is shown, and the search above it.

import { byID, el } from "./dom.js";
import { theme } from "./theme.js";
import { ask } from "./asking.js";
import { here, searched } from "./links.js";
import { file, repositories, repository } from "./repositories.js";
import { locate, search } from "./find.js";
import { declaration } from "./function.js";

theme();

const views = { repositories, repository, file, search, locate, function: declaration };
const view = byID("view");
let turn = 0;

// known are the repositories for the lists to choose from.
let known = null;
async function knownRepositories(o) {
  known = o ?? known ?? (await ask("overview"));
  byID("base").textContent = known.name;
  const chosen = byID("within").value;
  byID("within").replaceChildren(el("option", { value: "" }, "all repositories"), ...known.repositories.map((r) => el("option", { value: r.name }, r.name)));
  byID("within").value = chosen;
}

// Where a reader was comes back with the way back, and a link begins at the top.
const places = new Map();
let current = "", followed = false;
document.addEventListener("click", (e) => { if (e.target.closest?.("a[href^='#']")) followed = true; }, true);

async function show() {
  const mine = ++turn, at = here(), hash = location.hash;
  const forward = followed;
  followed = false;
  view.setAttribute("aria-busy", "true");
  let made;
  try {
    if (!views[at.view]) throw new Error("This address leads nowhere: it was cut, or is of another version of the page.");
    if (at.view === "locate") await knownRepositories();
    made = await views[at.view](at, known ?? {});
    await knownRepositories(made.overview);
  } catch (err) {
    made = { title: "", parts: [el("p", { class: "error", role: "alert" }, err.message), el("p", null, el("a", { href: "#/" }, "All repositories"))] };
  }
  if (mine !== turn) return;
  current = hash;
  view.removeAttribute("aria-busy");
  view.className = made.kind ?? "";
  view.replaceChildren(...made.parts.filter(Boolean));
  document.title = (made.title ? made.title + " · " : "") + "tracerag";
  if (at.view === "search") {
    byID("text").value = at.text;
    byID("within").value = at.repository;
  }
  if (made.focus) made.focus.focus();
  else view.querySelector("h2")?.focus({ preventScroll: true });
  scrollTo(0, forward ? 0 : (places.get(hash) ?? 0));
}

addEventListener("scroll", () => { if (current === location.hash) places.set(current, scrollY); }, { passive: true });
addEventListener("hashchange", show);

byID("find").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = byID("text").value.trim();
  if (!text) return;
  followed = true;
  const to = searched(text, byID("within").value);
  if (location.hash === to) show();
  else location.hash = to;
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { e.preventDefault(); byID("text").focus(); byID("text").select(); }
});

show();
