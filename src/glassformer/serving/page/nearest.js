// The training texts nearest to the text, if the model keeps its training texts.

import { el, said } from "./dom.js";

const LONG = 200; // characters

export function drawNearest({ reasons }) {
  if (!reasons?.nearest) return null;
  const { texts, compared, remark } = reasons.nearest;
  return el("details", {},
    el("summary", {}, "Nearest training texts"),
    remark ? el("p", {}, remark) : null,
    texts.length ? el("p", { className: "soft" }, `Similarity: ${compared}.`) : null,
    el("ol", { className: "near-texts" }, ...texts.map(drawText)));
}

function drawText({ row, label, text, similarity }) {
  return el("li", {},
    el("p", { className: "soft" },
      el("b", { dir: "auto" }, said(label)), ` · similarity ${similarity.toFixed(3).replace("-", "−")} · row ${row.toLocaleString("en")}`),
    drawPart(text.length > LONG ? `${shortened(text)} …` : text),
    text.length > LONG ? el("details", {}, el("summary", {}, "The whole text"), drawPart(text)) : null);
}

const drawPart = (text) => el("p", { className: "text", dir: "auto" }, text);

/** The beginning of a text, up to the last space: never half of a character. */
function shortened(text) {
  const cut = Array.from(text.slice(0, LONG + 1)).slice(0, -1).join("");
  return cut.replace(/\s+\S*$/, "") || cut;
}
