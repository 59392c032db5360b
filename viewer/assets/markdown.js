// An answer, which is Markdown of some kind, as elements: headings, lists, code
// blocks, code spans, bold. Everything else stays as it is.

import { el } from "./dom.js";

// markdown returns the elements of a text. span makes the element of a code span
// or of a position in running text, given the text and whether it is a span.
export function markdown(text, span) {
  const out = [];
  let para = [], list = null;
  const close = () => {
    if (para.length) out.push(el("p", null, ...inline(para.join("\n"), span)));
    if (list) out.push(list);
    para = [];
    list = null;
  };
  const lines = text.split("\n");
  for (let k = 0; k < lines.length; k++) {
    const line = lines[k];
    const fence = line.match(/^\s*(`{3,}|~{3,})/);
    const head = line.match(/^(#{1,6})\s+(.*)/);
    const item = line.match(/^\s*(?:[-*+]|(\d+)[.)])\s+(.*)/);
    if (fence) {
      close();
      const code = [];
      while (++k < lines.length && !lines[k].trim().startsWith(fence[1])) code.push(lines[k]);
      out.push(el("pre", { tabindex: "0" }, code.join("\n")));
    } else if (head) {
      close();
      out.push(el("h4", null, ...inline(head[2], span)));
    } else if (item) {
      const tag = item[1] ? "OL" : "UL";
      if (para.length || (list && list.tagName !== tag)) close();
      list ??= el(tag.toLowerCase());
      list.append(el("li", null, ...inline(item[2], span)));
    } else if (!line.trim()) {
      close();
    } else if (list) {
      list.lastChild.append(" ", ...inline(line.trim(), span));
    } else {
      para.push(line);
    }
  }
  close();
  return out;
}

const inlinePattern = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|([\w./@+~-]+\.(?:go|s)(?::|#L?)\d+(?:[-–]L?\d+)?)/gs;

function inline(text, span) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(inlinePattern)) {
    out.push(text.slice(at, m.index));
    if (m[2] !== undefined) out.push(span(m[2].trim(), true));
    else if (m[3] !== undefined) out.push(el("strong", null, ...inline(m[3], span)));
    else out.push(span(m[4], false));
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}
