// The questions to the server, and the token that they need.

import { byID, el } from "./dom.js";
import { Server } from "./server.js";

const server = new Server();
const asked = document.title;

// Tabs of this page tell each other the token, so that a link that was opened in a new one needs none. Only pages of this
// server hear them.
const tabs = new BroadcastChannel("token");
const wanted = "wanted";
tabs.addEventListener("message", (e) => {
  if (e.data === wanted && server.token) tabs.postMessage({ token: server.token });
});

// otherTab waits a moment for the token of another tab.
function otherTab() {
  return new Promise((done) => {
    const hear = (e) => { if (e.data?.token) end(e.data.token); };
    const end = (token) => { tabs.removeEventListener("message", hear); clearTimeout(timer); done(token); };
    const timer = setTimeout(() => end(""), 300);
    tabs.addEventListener("message", hear);
    tabs.postMessage(wanted);
  });
}

// typed has the user type a token, and says why.
function typed(why) {
  return new Promise((done) => {
    const input = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true, "aria-describedby": "why" });
    const form = el("form", { class: "sign-in", onsubmit: (e) => { e.preventDefault(); done(input.value.trim()); } },
      el("h2", null, "This page needs a token"),
      el("p", { id: "why", class: "note" }, why),
      el("label", { for: "token" }, "Token"), input,
      el("button", { type: "submit", class: "primary" }, "Open"));
    byID("view").className = "";
    byID("view").removeAttribute("aria-busy");
    byID("view").replaceChildren(form);
    document.title = asked;
    input.focus();
  });
}

// ask asks the server. Where it wants another token the user is asked for one.
export async function ask(path, body, signal) {
  if (!server.token) {
    const token = await otherTab();
    if (token) server.keep(token);
  }
  for (;;) {
    try {
      return await (await server.fetch(path, body, signal)).json();
    } catch (err) {
      if (err.status !== 401) throw err;
      server.keep(await typed(err.message));
    }
  }
}
