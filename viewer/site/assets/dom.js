// Elements and numbers. No text ever becomes markup: what is shown comes out of
// programs that somebody else wrote, and the page's policy forbids it, too.

// el makes an element: el("button", {class: "x", onclick: f}, "text", child).
export function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class") e.className = value;
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null && c !== false));
  return e;
}

export const byID = (id) => document.getElementById(id);

const grouping = new Intl.NumberFormat("en-US");

// number writes 1234567 as "1,234,567", as the command line does.
export const number = (n) => grouping.format(n);

// brief writes a number in at most four characters.
export function brief(n) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (n >= 10 * size || (n >= size && size > 1e3)) return (n / size).toFixed(n < 100 * size && n < 10 * size ? 1 : 0) + unit;
  }
  return number(n);
}

export const plural = (n, one, many = one + "s") => (n === 1 ? "1 " + one : number(n) + " " + many);

// copy puts a text on the clipboard, and says on the button what became of it.
export async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without the permission, as in a file, the old way.
    const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
    area.remove();
    button.focus();
  }
  setTimeout(() => (button.textContent = label), 1500);
}
