// Colours: as the system has them, or light, or dark.

import { byID } from "./dom.js";

const themes = [["", "as the system has them"], ["light", "light"], ["dark", "dark"]];

const remembered = (key, value) => {
  try {
    if (value === undefined) return localStorage.getItem(key) ?? "";
    localStorage.setItem(key, value);
  } catch { /* a file may not remember */ }
  return "";
};

// theme has a button choose the colours. changed is called with each choice.
export function theme(changed) {
  const show = (name) => {
    const [value, words] = themes.find((t) => t[0] === name) ?? themes[0];
    document.documentElement.dataset.theme = value;
    const button = byID("theme");
    button.title = "Colours: " + words;
    button.setAttribute("aria-label", "Colours: " + words);
    changed?.();
  };
  byID("theme").addEventListener("click", () => {
    const at = themes.findIndex((t) => t[0] === (document.documentElement.dataset.theme ?? ""));
    const next = themes[(at + 1) % themes.length][0];
    remembered("theme", next);
    show(next);
  });
  show(remembered("theme"));
}
