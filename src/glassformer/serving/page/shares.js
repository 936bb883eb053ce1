// The shares of all words as a table. They add up to the margin.

import { el, signed, table } from "./dom.js";

export function drawShares({ reasons }) {
  if (!reasons) return null;
  const both = reasons.readers.length > 1;
  const rows = reasons.words.map((word) => both
    ? [word.word, signed(word.counting), signed(word.transformer), signed(word.total)]
    : [word.word, signed(word.total)]);
  const blank = both ? ["", ""] : [];
  const foot = [
    ["without known words", ...blank, signed(reasons.without_known_words)],
    ["not explained", ...blank, signed(reasons.unexplained)],
    ["sum: the margin", ...blank, signed(reasons.margin)],
  ];
  return el("details", {},
    el("summary", {}, "Word by word"),
    table("What each word adds to the margin, in logits",
      both ? ["word", "counting", "transformer", "both"] : ["word", "share"], rows, foot));
}
