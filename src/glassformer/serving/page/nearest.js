// The training texts nearest to the text, if the model keeps its training texts.

import { el, said, shortened } from "./dom.js";

const ENDS = 80; // characters of either end of a text

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
  const short = shortened(text, ENDS);
  return el("li", {},
    el("p", { className: "soft" },
      el("b", { dir: "auto" }, said(label)), ` · similarity ${similarity.toFixed(3).replace("-", "−")} · row ${row.toLocaleString("en")}`),
    drawPart(short),
    short !== text ? el("details", {}, el("summary", {}, "The whole text"), drawPart(text)) : null);
}

const drawPart = (text) => el("p", { className: "text", dir: "auto" }, text);
