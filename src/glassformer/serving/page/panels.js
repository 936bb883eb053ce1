// The parts of the page about an answer, in their order. A part is { name, draw(state) }: it returns an element, or null
// if it has nothing to show. `state` is what column.js keeps: model, limits, text, answer, changed, reasons,
// edits, onEdit, onGone. A part that returns the same element again is left as it is: it keeps the focus.

import { drawAnswer } from "./answer.js";
import { drawCard } from "./card.js";
import { drawDrift } from "./drift.js";
import { drawFeedback } from "./feedback.js";
import { drawHeads } from "./heads.js";
import { drawLapse } from "./lapse.js";
import { drawNearest } from "./nearest.js";
import { drawNgrams } from "./ngrams.js";
import { drawPassages } from "./passages.js";
import { drawReaders } from "./readers.js";
import { drawRules } from "./rules.js";
import { drawShares } from "./shares.js";
import { drawTrace } from "./trace.js";
import { drawTurning } from "./turning.js";

export const BESIDE = [
  { name: "answer", draw: drawAnswer },
  { name: "readers", draw: drawReaders },
];

/** Only if the server keeps right answers. */
export const FEEDBACK = { name: "feedback", draw: drawFeedback };

export const BELOW = [
  { name: "turning", draw: drawTurning },
  { name: "shares", draw: drawShares },
  { name: "rules", draw: drawRules },
  { name: "ngrams", draw: drawNgrams },
  { name: "passages", draw: drawPassages },
  { name: "heads", draw: drawHeads },
  { name: "nearest", draw: drawNearest },
  { name: "trace", draw: drawTrace },
  { name: "lapse", draw: drawLapse },
  { name: "drift", draw: drawDrift },
  { name: "card", draw: drawCard },
];
