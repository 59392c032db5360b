// The prompt: what would be sent, what it costs, and the answer.

import { el, byID, number, plural, copy } from "./dom.js";
import { tierWords } from "./model.js";
import { markdown } from "./markdown.js";
import { rounds } from "./rounds.js";
import { data } from "./data.js";

const variantWords = {
  ordered: "ordered: tree, then each source once in call order", full: "full: tree, and sources as often as called",
  A: "A: tree, each source once, sorted", C: "C: sources as called, no tree", CA: "CA: sources sorted, no tree", T: "T: the tree alone",
};

// least is the smallest budget on the slider, in tokens; smaller ones can be typed.
const least = 500;

// quote writes a word so that a shell reads it back.
const quote = (s) => (/^[\w@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", `'\\''`) + "'");

export class Prompt {
  #model; #overview; #go; #changed;
  #question; #variant; #slider; #budget; #shell; #figure;
  #whole = new Map(); // tokens without a budget, by variant
  #bar; #account; #text; #error; #copy; #ask; #answer; #notes; #how; #hint; #rounds; #title;
  #building = null; // aborts the request that is on its way
  #asking = null;
  #last = null; // the account that is shown
  #timer = 0;

  // go is told where something cited is, changed what the prompt costs, and asked the
  // question, when it is another.
  constructor(overview, model, panel, go, changed, asked) {
    this.#overview = overview;
    this.#model = model;
    this.#go = go;
    this.#changed = changed;
    this.#question = el("textarea", { id: "question", rows: "3", placeholder: "Which function …?", oninput: () => this.#later(), onchange: () => asked(this.draft.question), disabled: !data.live });
    this.#question.value = overview.draft.question;
    this.#question.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && overview.model) this.#start();
    });
    this.#variant = el("select", { id: "variant", onchange: () => this.build(), disabled: !data.live },
      ...overview.variants.map((v) => el("option", { value: v, selected: v === overview.draft.variant }, variantWords[v] ?? v)));
    this.#slider = el("input", { type: "range", id: "slider", min: "0", max: "1000", step: "1", disabled: true, "aria-label": "Budget of tokens",
      oninput: () => this.#slide(), onchange: () => this.build() });
    this.#budget = el("input", { type: "number", id: "budget", min: "1", step: "100", placeholder: "no limit", disabled: !data.live,
      onchange: () => { this.#follow(); this.build(); } });
    this.#budget.value = overview.draft.budget || "";
    this.#shell = el("code", { id: "shell" });
    this.#figure = el("output", { class: "figure", for: "question variant", id: "total" }, "…");
    this.#bar = el("div", { class: "meter", role: "img" });
    this.#error = el("p", { class: "error", role: "alert", hidden: true });
    this.#copy = el("button", { type: "button", disabled: true, onclick: (e) => this.#last && copy(e.currentTarget, this.#last.text) }, "Copy prompt");
    this.#ask = el("button", { type: "button", class: "primary", disabled: !overview.model, onclick: () => this.#start() }, overview.model ? "Ask " + overview.model : "Ask");
    this.#hint = el("span", { class: "hint" });
    this.#how = el("fieldset", { class: "choice", id: "how", hidden: true }, el("legend", { class: "offscreen" }, "How to ask"),
      ...[["rounds", "In rounds"], ["one", "One prompt"]].map(([value, label]) =>
        el("label", null, el("input", { type: "radio", name: "how", value, checked: value === "rounds", onchange: () => this.#last && this.#warn(this.#last) }), label)));
    this.#rounds = el("div", { class: "rounds", "aria-live": "polite" });
    this.#title = el("summary", null, "The prompt as it would be sent");
    this.#answer = el("article", { class: "answer", "aria-live": "polite", "aria-label": "Answer", hidden: true });
    this.#notes = el("div", { class: "notes" });
    this.#account = el("div");
    this.#text = el("div", { class: "prompt-text", tabindex: "0", role: "region", "aria-label": "Text of the prompt" });
    panel.append(
      el("div", { class: "draft" },
        el("label", { class: "field", for: "question" }, "Question"), this.#question,
        el("div", { class: "controls" }, el("label", { class: "field", for: "variant" }, "Variant"), this.#variant,
          el("label", { class: "field", for: "budget" }, "Budget"), el("div", { class: "budget" }, this.#slider, this.#budget)),
        el("div", { class: "total" }, this.#figure), this.#bar, this.#error,
        el("div", { class: "buttons" }, data.live ? this.#ask : null, this.#how, this.#copy, this.#hint),
        overview.command ? el("div", { class: "shell" }, this.#shell,
          el("button", { type: "button", class: "link", onclick: (e) => copy(e.currentTarget, this.#shell.textContent) }, "Copy")) : null),
      this.#rounds, this.#answer, this.#notes, this.#account,
      el("details", { class: "whole", open: true }, this.#title, this.#text));
    this.#hint.textContent = this.#about();
  }

  #about() {
    if (!data.live) return "A report has one prompt; tracerag view makes others and asks.";
    if (!this.#overview.model) return "No model is configured (tracerag ask --help): copy the prompt into any chat.";
    if (this.#inRounds) return "Ask sends the names of the functions that ran. The model says which sources it wants to read, and answers within three rounds.";
    return "Ask sends the prompt below, source code included.";
  }

  // inRounds says whether the question is asked in rounds rather than with the prompt that
  // is shown.
  get #inRounds() { return !!this.#last?.rounds && this.#mayRounds; }
  get #mayRounds() { return this.#how.querySelector("input").checked; } // who asks before the prompt is there, too

  // warn says how to ask what is shown, and the one thing that is wrong with it.
  #warn(a) {
    this.#how.hidden = !a.rounds;
    this.#hint.textContent = this.#about();
    this.#title.textContent = this.#inRounds ? "One prompt with everything" : "The prompt as it would be sent";
    this.#fail(this.#inRounds ? "" : a.over ?? "");
    this.#notes.replaceChildren(...(this.#inRounds || a.over ? [] : a.warnings ?? []).map((w) => el("p", { class: "note" }, w)));
  }

  // put takes a question that was typed elsewhere.
  put(question) {
    if (question === this.draft.question) return;
    this.#question.value = question;
    this.build();
  }

  // ask asks the model.
  ask() { if (!this.#asking) this.#start(); }

  get draft() { return { question: this.#question.value.trim(), variant: this.#variant.value, budget: Math.max(0, Math.floor(Number(this.#budget.value))) || 0 }; }

  // The slider is geometric: a thousand tokens matter more among two thousand than
  // among fifty. Its right end is no budget.
  #slide() {
    const whole = this.#whole.get(this.#variant.value), x = Number(this.#slider.value) / 1000;
    if (!whole) return;
    const exact = least * (whole / least) ** x, unit = exact < 2000 ? 50 : exact < 20000 ? 100 : 500;
    this.#budget.value = x >= 1 ? "" : Math.max(least, Math.round(exact / unit) * unit);
    this.#say();
    this.#later();
  }

  #say() {
    this.#slider.setAttribute("aria-valuetext", this.#budget.value ? number(Number(this.#budget.value)) + " tokens" : "no limit");
  }

  // follow sets the slider to the number.
  #follow() {
    const whole = this.#whole.get(this.#variant.value), budget = this.draft.budget;
    this.#slider.disabled = !data.live || !whole || whole <= least;
    if (!whole) return;
    this.#slider.value = !budget || budget >= whole ? 1000 : Math.round((1000 * Math.log(Math.max(budget, least) / least)) / Math.log(whole / least));
    this.#say();
  }

  #command() {
    const d = this.draft;
    this.#shell.textContent = [this.#overview.command, d.variant === this.#overview.variants[0] ? "" : "--variant=" + d.variant,
      d.budget ? "--budget=" + d.budget : "", d.question ? quote(d.question) : ""].filter(Boolean).join(" ");
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.build(), 250);
  }

  async build() {
    clearTimeout(this.#timer);
    this.#building?.abort();
    const mine = (this.#building = new AbortController());
    this.#figure.classList.add("stale");
    try {
      const draft = this.draft;
      this.#command();
      const account = await data.prompt(draft, mine.signal);
      if (mine !== this.#building) return;
      if (!account.budget) this.#whole.set(draft.variant, account.total);
      this.#last = account;
      this.#error.hidden = true;
      this.#show(account);
      if (data.live && !this.#whole.has(draft.variant)) this.#whole.set(draft.variant, (await data.prompt({ ...draft, budget: 0 }, mine.signal)).total);
      this.#follow();
    } catch (err) {
      if (err.name === "AbortError" || mine !== this.#building) return;
      this.#fail(err.message);
    }
    this.#figure.classList.remove("stale");
  }

  #fail(message) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
  }

  #show(a) {
    const share = Math.round((100 * a.total) / a.window);
    this.#figure.replaceChildren(
      el("strong", { "data-total": a.total }, (a.estimated ? "about " : "") + number(a.total)), " tokens",
      el("span", { class: "of" }, ` ${share}% of the ${number(a.window)} that ${a.model || "a model"} takes · ${a.encoding}`));
    this.#copy.disabled = false;
    this.#warn(a);
    this.#meter(a);
    this.#list(a);
    this.#write(a.text);
    this.#changed(a);
  }

  // meter shows the sections as parts of the window.
  #meter(a) {
    const most = Math.max(a.window, a.total);
    this.#bar.replaceChildren(...a.sections.map((s, k) => {
      const part = el("span", { class: "part part-" + (k % 6), title: `${s.name}: ${number(s.tokens)} tokens` });
      part.style.width = (100 * s.tokens) / most + "%";
      return part;
    }));
    this.#bar.setAttribute("aria-label", a.sections.map((s) => `${s.name} ${number(s.tokens)} tokens`).join(", "));
  }

  #list(a) {
    const sections = el("table", { class: "sections" },
      el("caption", { class: "offscreen" }, "Tokens by section"),
      el("tbody", null, ...a.sections.map((s, k) => el("tr", null,
        el("th", { scope: "row" }, el("span", { class: "dot part-" + (k % 6) }), s.name),
        el("td", { class: "num" }, number(s.tokens)), el("td", { class: "num faint" }, plural(s.lines, "line"))))));
    this.#account.replaceChildren(el("h3", null, "Where the tokens are"), sections,
      a.fitted?.length ? this.#fitted(a) : "", a.functions.length ? this.#functions(a) : "");
  }

  #functions(a) {
    const order = a.functions.map((f, r) => r).sort((x, y) => a.functions[y].tokens * a.functions[y].times - a.functions[x].tokens * a.functions[x].times || x - y);
    return this.#table(plural(order.length, "function") + ", the largest first", order, (r) => {
      const f = a.functions[r];
      return [this.#name(f.name, a.places[r], f.times > 1 ? el("span", { class: "faint" }, " ×" + f.times) : ""),
        el("td", { class: "num" }, number(f.tokens * f.times)), el("td", { class: "place faint" }, f.position ?? "")];
    });
  }

  // fitted says of what a budget left something out, the most relevant first.
  #fitted(a) {
    const cut = a.fitted.map((f, r) => r).filter((r) => a.fitted[r].tier !== "full");
    if (!cut.length) return "";
    return this.#table(plural(cut.length, "function") + " not whole, the most relevant first", cut, (r) => {
      const f = a.fitted[r];
      return [this.#name(f.name, a.fits[r]), el("td", null, el("span", { class: "mark is-" + f.tier, title: tierWords[f.tier] }, f.tier)),
        el("td", { class: "place faint" }, f.why ?? "")];
    });
  }

  #name(name, at, ...more) {
    return el("th", { scope: "row" }, at?.length ? el("button", { type: "button", class: "link mono", onclick: () => this.#go(at[0]) }, name) : name, ...more);
  }

  #table(title, rows, cells) {
    const most = 200;
    return el("details", { class: "functions" }, el("summary", null, title),
      el("table", null, el("tbody", null, ...rows.slice(0, most).map((r) => el("tr", null, ...cells(r))))),
      rows.length > most ? el("p", { class: "hint" }, `and ${number(rows.length - most)} more`) : null);
  }

  // write shows the text in pieces that the browser lays out when they come into
  // sight.
  #write(text) {
    const lines = text.split("\n"), pieces = [];
    for (let k = 0; k < lines.length; k += 100) {
      const piece = el("pre", null, lines.slice(k, k + 100).join("\n"));
      piece.style.containIntrinsicSize = `auto ${18 * Math.min(100, lines.length - k)}px`;
      pieces.push(piece);
    }
    this.#text.replaceChildren(...pieces);
  }

  async #start() {
    if (this.#asking) return this.#asking.abort();
    if (!this.#question.value.trim()) {
      this.#fail("Type a question first.");
      return this.#question.focus();
    }
    const label = this.#ask.textContent;
    this.#asking = new AbortController();
    this.#ask.textContent = "Stop";
    this.#answer.hidden = false;
    this.#answer.replaceChildren(el("p", { class: "hint" }, "Waiting for the first word …"));
    this.#fail("");
    let said = "", end = null, queued = false;
    this.#rounds.replaceChildren();
    const show = () => {
      queued = false;
      this.#answer.replaceChildren(...markdown(said, (text, span) => this.#cite(text, span, end?.citations)), ...this.#ending(end));
    };
    try {
      await data.ask({ ...this.draft, one_shot: !this.#mayRounds }, this.#asking.signal, (event) => {
        if (event.round) {
          this.#rounds.append(...rounds([event.round], this.#go));
        } else if (event.done) end = event;
        else said += event.text ?? "";
        if (!queued) { queued = true; requestAnimationFrame(show); }
      });
      if (!end) end = { error: "the answer broke off" };
    } catch (err) {
      end = { error: err.name === "AbortError" ? "stopped" : err.message };
    }
    this.#asking = null;
    this.#ask.textContent = label;
    show();
  }

  #ending(end) {
    if (!end) return [];
    const unknown = (end.citations ?? []).filter((c) => !c.known).map((c) => c.text);
    return [
      end.error ? el("p", { class: "error" }, end.error) : null,
      unknown.length ? el("p", { class: "note" }, "Not in what was sent, so from the model's memory or made up: " + unknown.join(", ")) : null,
      ...(end.notes ?? []).map((n) => el("p", { class: "note" }, n)),
    ].filter(Boolean);
  }

  // cite makes a link of what an answer cites, once it is known where that is.
  #cite(text, span, citations) {
    const c = citations?.find((c) => c.text === text);
    if (c?.func !== undefined) {
      return el("button", { type: "button", class: "link mono cite", onclick: () => this.#go(c.func, c.line) }, text);
    }
    return c && !c.known ? el("code", { class: "unknown", title: "not in what was sent" }, text) : span ? el("code", null, text) : text;
  }
}
