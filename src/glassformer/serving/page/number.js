// A number in large type with its interval, on the scale of the training rows, and what each reader adds to it.

import { el } from "./dom.js";

const AROUND = 0.1; // of the scale, on either side of it
const ABOUT = "An effect is how much the number falls without the word. Effects need not add up to the number.";

/** A number with four digits that count. */
export const short = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 10 }).replace("-", "−");

const effect = (value) => `${value > 0 ? "+" : ""}${Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 10 })}`.replace("-", "−");

export function drawNumber({ model, answer, changed }) {
  const now = changed ?? answer;
  if (!now) return el("p", { className: "soft" }, `Numbers of training: ${short(model.lowest)} to ${short(model.highest)}.`);
  if (now.prediction === null) return changed ? el("p", { className: "verdict-of-change" }, "No words are left.") : null;
  return el("div", {},
    el("p", { className: "label" }, short(now.prediction)),
    changed && answer.prediction !== null ? el("p", { className: "verdict-of-change" }, `As written: ${short(answer.prediction)}`) : null,
    scale(model, now, changed ? answer : null),
    el("p", { className: "soft" }, now.interval_low === null ? "There is no interval: too few rows were held out in training."
      : `${short(now.interval_low)} to ${short(now.interval_high)}: such an interval should contain the true number of 90% of texts.`),
    notes(now));
}

/** The number and its interval between the lowest and the highest number of training. */
function scale({ lowest, highest }, now, before) {
  const room = AROUND * (highest - lowest || 1), first = lowest - room, last = highest + room;
  const at = (value) => Math.min(1, Math.max(0, (value - first) / (last - first)));
  const line = el("div", { className: "scale", "aria-hidden": "true" }, el("span", { className: "at" }));
  const places = { at: now.prediction, low: now.interval_low ?? now.prediction, high: now.interval_high ?? now.prediction, lowest, highest };
  Object.entries(places).forEach(([name, value]) => line.style.setProperty(`--${name}`, at(value)));
  if (before?.prediction != null) {
    line.append(el("span", { className: "was" }));
    line.style.setProperty("--was", at(before.prediction));
  }
  return el("div", {}, line, el("p", { className: "ends soft" },
    el("span", {}, `lowest in training: ${short(lowest)}`), el("span", {}, `highest: ${short(highest)}`)));
}

function notes({ unlike_training: unlike, reading }) {
  const said = [unlike && "This text is unlike the training data, so its answer means little.", reading?.note].filter(Boolean);
  return said.length ? el("p", { className: "soft note" }, said.join(" ")) : null;
}

export function drawAdded({ model, answer, changed }) {
  const { readers, prediction } = changed ?? answer ?? {};
  if (!readers || prediction === null) return null;
  const most = Math.max(...Object.values(readers).map(Math.abs), 1e-9);
  const lines = Object.entries(readers).map(([name, value]) => {
    const bar = el("span", { className: `side ${value < 0 ? "against" : "for"}`, "aria-hidden": "true" });
    bar.style.setProperty("--share", Math.abs(value) / most);
    return el("li", {}, el("span", { className: "name" }, name), bar, el("span", { className: "value" }, effect(value)));
  });
  return el("div", {}, el("h3", {}, "Two readers"), el("ul", { className: "bars sides" }, ...lines),
    el("p", { className: "soft" }, `What each adds to ${short(model.base)}, from which all answers start.`));
}

/** The reasons for a number in the form of those for a label. */
export function asReasons(found) {
  const readers = Object.keys(found.words[0].readers);
  const words = found.words.map((word) => ({ ...word, ...word.readers, total: word.effect }));
  return { ...found, words, readers, label: short(found.prediction), rival: null, sides: ["raises the number", "lowers it"], verdict: ABOUT, trusted: null };
}
