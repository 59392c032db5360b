// The tree, as columns. Node i's children are those that follow it one level
// deeper, up to end[i]; all that is below it are the nodes from i + 1 to end[i].

export const mark = {
  inlined: 1, recursive: 2, via: 4, floor: 8, approximate: 16, // trace.Marks
  go: 256, init: 512, callback: 1024, observed: 2048,
};

// What became of a node from one run to the other, by calltree.Change.
export const changes = ["common", "changed", "moved", "added", "removed", "unrecorded"];
export const changeSigns = ["", "±", "↷", "+", "−", "?"];
export const changeWords = ["", "count changed", "moved", "added", "removed", "the other run could not record it"];

// tierWords say how much of a function a prompt has, by prompt.Tier.
export const tierWords = {
  full: "the whole source", ran: "the statements that ran", window: "a part of the source", signature: "signature and doc comment only",
  line: "a line in the call tree only", folded: "only a mark in the tree, which counts it",
};

export class Model {
  constructor(overview) {
    const { id, func, depth, calls, marks, lines, go, process, change, before, func_was, other } = overview.nodes;
    const n = (this.size = func?.length ?? 0);
    Object.assign(this, { functions: overview.functions ?? [], sampled: overview.sampled, lines, goAt: go ?? {}, processAt: process ?? {}, change, before, was: func_was, other: other ?? {} });
    this.id = Int32Array.from(id ?? []);
    this.func = Int32Array.from(func ?? []);
    this.depth = Int32Array.from(depth ?? []);
    this.calls = Float64Array.from(calls ?? []);
    this.marks = Uint16Array.from(marks ?? []);
    this.parent = new Int32Array(n).fill(-1);
    this.end = new Int32Array(n);
    this.place = new Int32Array(n); // among its siblings, from 1
    this.siblings = new Int32Array(n + 1); // children of node i - 1; of none: roots
    const path = [];
    for (let i = 0; i < n; i++) {
      while (path.length > this.depth[i]) this.end[path.pop()] = i;
      this.parent[i] = path.length ? path[path.length - 1] : -1;
      this.place[i] = ++this.siblings[this.parent[i] + 1];
      path.push(i);
    }
    for (const i of path) this.end[i] = n;
    // Where two runs differ, but for what lies below a call that only one of them made.
    this.differs = change && Uint8Array.from(change, (c, i) => {
      const up = this.parent[i];
      return (c !== 0 || this.other[i] !== undefined) && !(up >= 0 && c === change[up] && ["added", "removed", "unrecorded"].includes(changes[c]));
    });
    this.tokens = null; // by node, here and below
    this.tiers = null; // by function: how its source stands in the prompt
    this.weights = this.#sum((i) => Math.max(this.calls[i], this.before?.[i] ?? 0));
    this.first = new Map(); // the first node of each function
    for (let i = n - 1; i >= 0; i--) {
      this.first.set(this.func[i], i);
    }
    for (let i = n - 1; i >= 0 && this.was; i--) {
      if (this.was[i] >= 0 && !this.first.has(this.was[i])) this.first.set(this.was[i], i);
    }
  }

  // sum adds up what each node has with what is below it.
  #sum(own) {
    const sums = new Float64Array(this.size);
    for (let i = this.size - 1; i >= 0; i--) {
      sums[i] += own(i);
      if (this.parent[i] >= 0) sums[this.parent[i]] += sums[i];
    }
    return sums;
  }

  *children(i) {
    const end = i < 0 ? this.size : this.end[i];
    for (let c = i + 1; c < end; c = this.end[c]) yield c;
  }

  count(i) { return this.siblings[i + 1]; } // of children; -1: of roots
  hasChildren(i) { return this.end[i] > i + 1; }
  fn(i) { return this.functions[this.func[i]]; }
  name(i) { return this.fn(i).name; }

  path(i) {
    const up = [];
    for (; i >= 0; i = this.parent[i]) up.push(i);
    return up.reverse();
  }

  // setPrompt takes the account of a prompt: a source counts at the first node of
  // a function whose text it is.
  setPrompt(account) {
    const row = new Map();
    account.places.forEach((functions, r) => { for (const f of functions) row.set(f, r); });
    this.tiers = new Map();
    account.fits?.forEach((functions, r) => { for (const f of functions) this.tiers.set(f, account.fitted[r].tier); });
    const counted = new Set();
    const own = new Float64Array(this.size);
    for (let i = 0; i < this.size; i++) {
      const r = row.get(this.func[i]);
      if (r === undefined || counted.has(r)) continue;
      counted.add(r);
      own[i] = account.functions[r].tokens * account.functions[r].times;
    }
    this.tokens = this.#sum((i) => own[i]);
  }

  // calls in words and signs: "3", "200+" at least, "~200" about.
  countText(i) {
    if (this.change && this.change[i] !== 0 && this.before[i] !== this.calls[i] && changes[this.change[i]] === "changed") {
      return this.before[i] + " → " + this.calls[i];
    }
    return this.#count(this.calls[i], this.marks[i]);
  }

  #count(n, marks) {
    if (n === 0 && !this.sampled) return "?";
    return (marks & mark.approximate ? "~" : "") + n.toLocaleString("en-US") + (marks & mark.floor ? "+" : "");
  }

  // words are the marks of a node: a short one, and what it means.
  words(i) {
    const m = this.marks[i], out = [];
    if (this.processAt[i]) out.push(["process", "another program, which the function above started: " + this.processAt[i]]);
    if (m & mark.go) out.push(["go", "runs in a goroutine of its own" + (this.goAt[i] ? ", started at " + this.goAt[i] : "")]);
    if (m & mark.init) out.push(["init", "package initialisation"]);
    if (m & mark.callback) out.push(["callback", "called from C, from the runtime, or from what is not known"]);
    if (m & mark.inlined) out.push(["inlined", "the compiler put the body into the caller"]);
    if (m & mark.recursive) out.push(["recursive", "a call of a function above: what it calls is shown there"]);
    if (m & mark.via) out.push(["via", "functions that were not recorded stand between the caller and this one"]);
    const tier = this.tiers?.get(this.func[i]);
    if (tier && tier !== "full") out.push([tier, "for want of room the prompt has " + tierWords[tier]]);
    return out;
  }

  // elided reports whether the prompt has nothing of a node's source.
  elided(i) { return ["line", "folded"].includes(this.tiers?.get(this.func[i])); }

  // find returns the functions whose name, or package and name, has all words of
  // the text.
  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = new Set();
    this.functions.forEach((f, i) => {
      const name = (f.package + " " + f.name).toLowerCase();
      if (words.every((w) => name.includes(w))) hits.add(i);
    });
    return hits;
  }
}
