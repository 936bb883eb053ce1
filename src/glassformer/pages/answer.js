// The answer in large type, and a bar for each label; or a number with its interval, on the scale of the training rows.
// After a change of words, a tick shows where each was.

import { chance, counted, el, nameOf, said, short } from "./dom.js";

const SHOWN = 6, AROUND = 0.1; // labels; of the scale, on either side of it

export function drawAnswer({ model, answer, changed }) {
  if (!answer || answer.prediction === null) return model.target ? range(model) : bars(model, null, null);
  const now = changed ?? answer;
  if (now.prediction === null) return el("div", {}, el("p", { className: "verdict-of-change" }, "No words are left."));
  const before = changed
    ? el("p", { className: "verdict-of-change" }, `As written: ${inLarge(answer).filter(Boolean).join(", ")}`)
    : null;
  const [large, confidence] = inLarge(now);
  return el("div", {},
    el("p", { className: "label", dir: "auto" }, large, ...(confidence ? [" ", el("span", { className: "confidence" }, confidence)] : [])),
    before,
    surePath(now),
    (model.target ? scale : bars)(model, now, changed ? answer : null), // in the order of the written text, so that no bar jumps
    notes(now, byCost(model, now)));
}

/** The answer, and the confidence of a label. */
function inLarge({ prediction, confidence }) {
  return confidence === undefined ? [short(prediction), ""] : [said(prediction), chance(confidence)];
}

/** Of labels with levels: the path as far as the model is sure. */
export function surePath({ path, path_probability: probability }) {
  if (path === undefined) return null;
  return el("p", { className: "soft", dir: "auto" }, path === null ? "Sure of no level." : `Sure of: ${path} (${chance(probability)})`);
}

const range = ({ lowest, highest }) => el("p", { className: "soft" }, `Numbers of training: ${short(lowest)} to ${short(highest)}.`);

/** The number and its interval between the lowest and the highest number of training. */
function scale({ lowest, highest }, now, before) {
  const room = AROUND * (highest - lowest || 1), first = lowest - room, last = highest + room;
  const at = (value) => Math.min(1, Math.max(0, (value - first) / (last - first)));
  const line = el("div", { className: "scale", "aria-hidden": "true" }, el("span", { className: "at" }));
  const { prediction, interval_low: low, interval_high: high } = now;
  const places = { at: prediction, low: low ?? prediction, high: high ?? prediction, lowest, highest };
  Object.entries(places).forEach(([name, value]) => line.style.setProperty(`--${name}`, at(value)));
  if (before) {
    line.append(el("span", { className: "was" }));
    line.style.setProperty("--was", at(before.prediction));
  }
  return el("div", {}, line, el("p", { className: "ends soft" },
    el("span", {}, `lowest in training: ${short(lowest)}`), el("span", {}, `highest: ${short(highest)}`)),
    el("p", { className: "soft" }, low === null ? "There is no interval: too few rows were held out in training."
      : `${short(low)} to ${short(high)}: such an interval should contain the true number of 90% of texts.`));
}

function bars(model, now, before) {
  // Objects hold keys such as "1" and "0" in their own order, so the labels are ranked here.
  const names = now
    ? Object.entries((before ?? now).probabilities).sort((one, other) => other[1] - one[1]).map(([name]) => name)
    : model.labels.map(nameOf);
  const chosen = new Set(now ? [now.prediction].flat().map(nameOf) : []);
  const rows = names.map((name) => bar(name, now?.probabilities[name], before?.probabilities[name], chosen.has(name)));
  const list = el("ul", { className: "bars" }, ...rows.slice(0, SHOWN));
  if (rows.length <= SHOWN) return el("div", {}, list);
  return el("div", {}, list, el("details", {},
    el("summary", {}, counted(rows.length - SHOWN, "more label")),
    el("ul", { className: "bars" }, ...rows.slice(SHOWN))));
}

function bar(name, probability, before, chosen) {
  const drawn = el("span", { className: "bar", "aria-hidden": "true" });
  drawn.style.setProperty("--share", probability ?? 0);
  if (before !== undefined) {
    drawn.append(el("span", { className: "was" }));
    drawn.style.setProperty("--was", before);
  }
  return el("li", { className: chosen ? "chosen" : "" },
    el("span", { className: "name", dir: "auto" }, name), drawn,
    el("span", { className: "value" }, probability === undefined ? "" : chance(probability)));
}

/** Why an answer is not what the probabilities alone would say. */
function byCost({ costs }, { prediction, probabilities }) {
  if (!costs) return "";
  const ranked = Object.entries(probabilities).sort((one, other) => other[1] - one[1]);
  if (!Array.isArray(prediction)) return ranked[0][0] === nameOf(prediction) ? "" : `${ranked[0][0]} is more probable, but this answer should cost less.`;
  const given = new Set(prediction.map(nameOf));
  return ranked.some(([name, probability]) => (probability >= 0.5) !== given.has(name)) ? "What mistakes cost decides, not 50%." : "";
}

function notes(answer, cost) {
  const { note, unknown_words: all = [], more_unknown_words: more } = answer.reading ?? {};
  const unknown = all.filter((word) => /[\p{L}\p{N}]/u.test(word));
  const words = unknown.length
    ? `Not in the transformer’s vocabulary: ${unknown.join(", ")}${more ? ` and ${more} more` : ""}.` : "";
  const unlike = answer.unlike_training ? "This text is unlike the training data, so its answer means little." : "";
  const person = answer.needs_review ? "A person should look at this answer: it may cost more than asking." : "";
  const text = [cost, person, unlike, note, words].filter(Boolean).join(" ");
  return text ? el("p", { className: "soft note", dir: "auto" }, text) : null;
}
