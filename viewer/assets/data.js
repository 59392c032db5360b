// Where the data is: in the file, of a report, or at the server. Both answer
// overview, source, prompt and rank; only a server can ask a model, and knows of the source
// what did not run.

const embedded = document.getElementById("data");

// takeToken takes the token out of the address, where it would be seen, and keeps
// it for the tab, so that the page can be loaded again.
function takeToken() {
  let token = location.hash.slice(1);
  if (token) {
    history.replaceState(null, "", location.pathname);
    sessionStorage.setItem("token", token);
  } else {
    token = sessionStorage.getItem("token") ?? "";
  }
  return token;
}

async function refusal(answer) {
  return new Error((await answer.text()).trim() || answer.statusText);
}

class Served {
  live = true;
  #token = takeToken();

  async #fetch(path, body, signal) {
    const headers = { Authorization: "Bearer " + this.#token };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch("/api/" + path, {
        method: body === undefined ? "GET" : "POST",
        body: body === undefined ? undefined : JSON.stringify(body),
        headers, signal,
      });
    } catch (err) {
      if (err.name === "AbortError") throw err;
      throw new Error("tracerag view does not answer any more: start it again");
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }

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
