// The passages that the transformer reads one by one: where each lies in a long text, and its own margin.

import { counted, el, namedIn, shortened, wordingOf } from "./dom.js";

const SHOWN = 6, ENDS = 60; // passages, and characters of either end of a passage

export function drawPassages({ reasons }) {
  if (!reasons?.passages?.length) return null;
  const { passages, text } = reasons, points = Array.from(text), { whole, written } = wordingOf(reasons);
  const most = Math.max(...passages.map(({ margin }) => Math.abs(margin)), 1e-9);
  const ranked = passages.map((passage, number) => ({ ...passage, number })).sort((a, b) => b.margin - a.margin);
  const lines = ranked.map((passage, rank) => line(passage, points, most, written, rank === 0));
  return el("details", {},
    el("summary", {}, "Passage by passage"),
    el("div", { className: "inside" },
      el("p", { className: "soft" }, `The transformer reads ${counted(passages.length, "overlapping passage")}, and its part of `
        + `the ${whole} is the mean of theirs. The first one here ${"label" in reasons ? `speaks for ${namedIn(reasons)}` : "raises it"} most. The bar shows where a passage lies in the text.`),
      el("ol", {}, ...lines.slice(0, SHOWN)),
      lines.length > SHOWN ? el("details", {}, el("summary", {}, counted(lines.length - SHOWN, "more passage")),
        el("ol", {}, ...lines.slice(SHOWN))) : null));
}

function line({ start, end, margin, number }, points, most, written, first) {
  const lies = el("span", { className: `lies ${margin < 0 ? "against" : "for"}`, "aria-hidden": "true" });
  lies.style.setProperty("--start", start / points.length);
  lies.style.setProperty("--length", (end - start) / points.length);
  lies.style.setProperty("--share", `${(20 + (80 * Math.abs(margin)) / most).toFixed(0)}%`);
  return el("li", { className: first ? "chosen" : "" },
    el("span", { className: "name" }, `passage ${number + 1}`), lies, el("span", { className: "value" }, written(margin)),
    el("span", { className: "text", dir: "auto" }, shortened(points.slice(start, end).join(""), ENDS)));
}
