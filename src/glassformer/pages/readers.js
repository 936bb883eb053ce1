// What each of the two readers adds to the margin: to the right for the answer, to the left for its rival.

import { el, said, signed } from "./dom.js";

export function drawReaders({ answer, changed, model }) {
  const now = changed ?? answer;
  if (!now || now.prediction === null) return null;
  const title = el("h3", {}, "Two readers");
  if (!now.readers) return null;
  if (model.answers_by_counting) {
    return el("div", {}, title, el("p", {}, "The model answers by counting alone: held-out rows did not show that its transformer helps."));
  }
  const { counting, transformer } = now.readers;
  const most = Math.max(Math.abs(counting), Math.abs(transformer), 1e-9);
  return el("div", {}, title,
    el("ul", { className: "bars sides" },
      side("counting", counting, most), side("transformer", transformer, most)),
    el("p", { className: "soft" }, sentence(counting, transformer, now, model)));
}

function side(name, value, most) {
  const drawn = el("span", { className: `side ${value < 0 ? "against" : "for"}`, "aria-hidden": "true" });
  drawn.style.setProperty("--share", Math.abs(value) / most);
  return el("li", {}, el("span", { className: "name" }, name), drawn, el("span", { className: "value" }, signed(value)));
}

function sentence(counting, transformer, answer, model) {
  const label = model.multilabel ? "this answer" : said(answer.prediction);
  if (counting >= 0 && transformer >= 0) return `Both speak for ${label}.`;
  if (counting < 0 && transformer < 0) return `Both speak against ${label}.`;
  return counting > transformer
    ? `Counting speaks for ${label}, the transformer against it.`
    : `The transformer speaks for ${label}, counting against it.`;
}
