// The n-grams that move the margin most by counting.

import { el, signed, table } from "./dom.js";

export function drawNgrams({ reasons }) {
  if (!reasons?.ngrams?.length) return null;
  return el("details", {},
    el("summary", {}, "What counting found"),
    table("The n-grams that move the margin most", ["n-gram", "times", "share"],
      reasons.ngrams.map((each) => [each.ngram, String(each.count), signed(each.share)])));
}
