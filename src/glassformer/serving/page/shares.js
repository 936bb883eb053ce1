// The shares of all words as a table. They add up to the margin, or to the number.

import { el, table, wordingOf } from "./dom.js";

export function drawShares({ model, reasons }) {
  if (!reasons) return null;
  const readers = reasons.readers.length > 1 ? reasons.readers : [], { whole, unit, written } = wordingOf(reasons);
  const several = model.inputs?.texts.length > 1;
  const named = ({ word, input, column }) => (several && !column ? `${word} (${input})` : word);
  const rows = reasons.words.map((word) => [named(word), ...readers.map((name) => written(word[name])), written(word.total)]);
  const last = readers.length ? (readers.length > 2 ? "all" : "both") : "share";
  const foot = [["if all words were unknown", reasons.without_known_words], ["not explained", reasons.unexplained], [`sum: the ${whole}`, reasons.margin]];
  return el("details", {},
    el("summary", {}, "Word by word"),
    table(`What each word adds to the ${whole}${unit}`, ["word", ...readers, last], rows,
      foot.map(([name, value]) => [name, ...readers.map(() => ""), written(value)])));
}
