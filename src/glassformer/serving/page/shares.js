// The shares of all words as a table. They add up to the margin.

import { el, signed, table } from "./dom.js";

export function drawShares({ model, reasons }) {
  if (!reasons) return null;
  const both = reasons.readers.length > 1;
  const several = model.inputs?.texts.length > 1;
  const named = ({ word, input, column }) => (several && !column ? `${word} (${input})` : word);
  const rows = reasons.words.map((word) => both
    ? [named(word), signed(word.counting), signed(word.transformer), signed(word.total)]
    : [named(word), signed(word.total)]);
  const heads = both ? ["word", "counting", "transformer", "both"] : ["word", reasons.sides ? "effect" : "share"];
  const blank = both ? ["", ""] : [];
  const foot = reasons.sides ? [] : [
    ["without known words", ...blank, signed(reasons.without_known_words)],
    ["not explained", ...blank, signed(reasons.unexplained)],
    ["sum: the margin", ...blank, signed(reasons.margin)],
  ];
  return el("details", {},
    el("summary", {}, "Word by word"),
    table(reasons.sides ? "How much the number falls without each word" : "What each word adds to the margin, in logits",
      heads, rows, foot));
}
