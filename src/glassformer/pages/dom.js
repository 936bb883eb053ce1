// Small helpers for building the page.

import { chance, el, percent } from "./elements.js";

export { chance, el, percent };

export const byId = (id) => document.getElementById(id);

export function signed(value) {
  const shown = Math.abs(value).toFixed(2);
  return `${value < 0 && Number(shown) ? "−" : "+"}${shown}`;
}

/** A number of the user's unit with four digits that count. */
export const short = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 10 }).replace("-", "−");

/** Writes shares of such a number with as many decimals as the largest needs for three digits that count. */
export function inUnit(shares) {
  const most = Math.max(...shares.map(Math.abs), 1e-9), digits = Math.max(0, 2 - Math.floor(Math.log10(most)));
  const written = (value) => Math.abs(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => `${/[1-9]/.test(written(value)) ? (value < 0 ? "−" : "+") : ""}${written(value)}`;
}

/** How shares are written and what they are shares of: a margin in logits, or a number in its unit. */
export function wordingOf(reasons) {
  if ("label" in reasons) return { whole: "margin", unit: ", in logits", written: signed };
  return { whole: "number", unit: "", written: inUnit(reasons.words.map(({ total }) => total)) };
}

/** What is explained, in a word. */
export const namedIn = (reasons) => ("label" in reasons ? nameOf(reasons.label) : short(reasons.prediction));

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** A label as probabilities name it: that of a Python program may be true. */
export const nameOf = (label) => (typeof label === "boolean" ? (label ? "True" : "False") : String(label));

/** The label or labels of an answer, as a reader says them. */
export function said(prediction) {
  if (prediction === null) return "no answer";
  if (Array.isArray(prediction)) return prediction.length ? prediction.map(nameOf).join(", ") : "no label";
  return nameOf(prediction);
}

/** Both ends of a long text, each of so many code points at most, cut between words. */
export function shortened(text, ends) {
  const points = Array.from(text);
  if (points.length <= 2 * ends + 3) return text;
  const head = points.slice(0, ends).join("").replace(/\s+\S*$/u, "");
  const tail = points.slice(-ends).join("").replace(/^\S*\s+/u, "");
  return `${head} … ${tail}`;
}

// Marks the tables that are wider than their place, so that the hint below them shows.
const widths = new ResizeObserver((parts) => parts.forEach(({ target }) => {
  const scroll = target.closest(".scroll");
  scroll?.classList.toggle("wide", scroll.scrollWidth > scroll.clientWidth);
}));

/** A table whose first column names the rows, with a hint below if it has to be scrolled. */
export function table(caption, head, rows, foot = []) {
  const line = ([first, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((cell) => el("td", {}, cell)));
  const scroll = el("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
    el("table", {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.map(line)),
      el("tfoot", {}, ...foot.map(line))));
  [scroll, scroll.firstChild].forEach((part) => widths.observe(part));
  return el("div", {}, scroll, el("p", { className: "swipe" }, "Wider than the screen: scroll sideways."));
}
