// The server of the page, and the token that it wants.

// takeToken takes the token out of the address, where it would be seen, and keeps
// it for the tab, so that the page can be loaded again. A fragment that begins with "/" is a
// place on the page, and no token.
function takeToken() {
  const token = location.hash.startsWith("#/") ? "" : location.hash.slice(1);
  if (!token) return sessionStorage.getItem("token") ?? "";
  history.replaceState(null, "", location.pathname);
  sessionStorage.setItem("token", token);
  return token;
}

// Refusal is what the server answers instead of data.
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export class Server {
  token = takeToken();

  // keep takes another token, and keeps it for the tab.
  keep(token) {
    this.token = token;
    sessionStorage.setItem("token", token);
  }

  // fetch asks, with a body by POST. It throws what the server refuses with.
  async fetch(path, body, signal) {
    const headers = { Authorization: "Bearer " + this.token };
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
    if (!answer.ok) throw new Refusal(answer.status, (await answer.text()).trim() || answer.statusText);
    return answer;
  }
}
