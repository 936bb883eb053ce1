// The parts of the page about an answer, in their order. A part is { name, draw(state) }: it returns an element, or null
// if it has nothing to show. `state` is what column.js keeps: model, text, answer, changed, reasons, edits.

import { drawAnswer } from "./answer.js";
import { drawCard } from "./card.js";
import { drawNearest } from "./nearest.js";
import { drawNgrams } from "./ngrams.js";
import { drawReaders } from "./readers.js";
import { drawShares } from "./shares.js";
import { drawTrace } from "./trace.js";

export const BESIDE = [
  { name: "answer", draw: drawAnswer },
  { name: "readers", draw: drawReaders },
];

export const BELOW = [
  { name: "shares", draw: drawShares },
  { name: "ngrams", draw: drawNgrams },
  { name: "nearest", draw: drawNearest },
  { name: "trace", draw: drawTrace },
  { name: "card", draw: drawCard },
];
