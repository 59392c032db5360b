// Where the data is: in the file, of a report, or at the server. Both answer
// overview, source, prompt and rank; only a server can ask a model, and knows of the source
// what did not run.

import { Server } from "./server.js";

const embedded = document.getElementById("data");

class Served {
  live = true;
  #server = new Server();

  #fetch(path, body, signal) { return this.#server.fetch(path, body, signal); }

  async overview() { return (await this.#fetch("overview")).json(); }
  async source(fn) { return (await this.#fetch("source/" + fn)).json(); }
  async values(node) { return (await this.#fetch("values/" + node)).json(); }
  async prompt(draft, signal) { return (await this.#fetch("prompt", draft, signal)).json(); }
  async rank(question) { return (await this.#fetch("rank", { question, variant: "" })).json(); }

  async locate(question) { return (await this.#fetch("locate", { question })).json(); }
  async unit(ref) { return (await this.#fetch("unit", ref)).json(); }
  async refresh() { return (await this.#fetch("refresh", {})).json(); }
  async index() { return (await this.#fetch("index", {})).json(); }

  // ask calls each with every event of the answer.
  async ask(draft, signal, each) {
    const answer = await this.#fetch("ask", draft, signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) each(JSON.parse(line));
    }
  }
}

class Embedded {
  live = false;
  #data = JSON.parse(embedded.textContent);

  async overview() { return this.#data.overview; }
  async source(fn) { return this.#data.sources[fn] ?? { note: "left out of this report, which would be too large with it" }; }
  async values(node) { return this.#data.values[node]; }
  async prompt() { return this.#data.prompt; }
  async rank() { return this.#data.ranked ?? []; }
  get omitted() { return this.#data.omitted ?? []; }
}

export const data = embedded ? new Embedded() : new Served();
