// The n-grams that move the margin most by counting.

import { el, table, wordingOf } from "./dom.js";

export function drawNgrams({ reasons }) {
  if (!reasons?.ngrams?.length) return null;
  const { whole, written } = wordingOf(reasons);
  return el("details", {},
    el("summary", {}, "What counting found"),
    table(`The n-grams that move the ${whole} most${inside(reasons.ngrams) ? ". ␣ is the start or the end of a word" : ""}`,
      ["n-gram", "of", "times", "share"],
      reasons.ngrams.map((each) => [visible(each), each.input ? `${each.family} (${each.input})` : each.family, String(each.count), written(each.share)])));
}

const inside = (ngrams) => ngrams.some(({ family }) => family === "characters");

const visible = ({ ngram, family }) => (family === "words" ? ngram : ngram.replaceAll(" ", "␣"));
