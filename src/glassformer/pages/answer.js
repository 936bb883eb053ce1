// The answer in large type, and a bar for each label. After a change of words, a tick shows where each bar was.

import { counted, el, percent, said } from "./dom.js";

const SHOWN = 6;

export function drawAnswer({ model, answer, changed }) {
  if (!answer || answer.prediction === null) return bars(model, null, null);
  const now = changed ?? answer;
  if (now.prediction === null) return el("div", {}, el("p", { className: "verdict-of-change" }, "No words are left."));
  const before = changed
    ? el("p", { className: "verdict-of-change" }, `As written: ${said(answer.prediction)}, ${percent(answer.confidence)}`)
    : null;
  return el("div", {},
    el("p", { className: "label", dir: "auto" }, said(now.prediction),
      " ", el("span", { className: "confidence" }, percent(now.confidence))),
    before,
    bars(model, now, changed ? answer : null), // in the order of the written text, so that no bar jumps
    notes(now));
}

function bars(model, now, before) {
  // Objects hold keys such as "1" and "0" in their own order, so the labels are ranked here.
  const names = now
    ? Object.entries((before ?? now).probabilities).sort((one, other) => other[1] - one[1]).map(([name]) => name)
    : model.labels.map(String);
  const chosen = new Set(now ? [now.prediction].flat().map(String) : []);
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
    el("span", { className: "value" }, probability === undefined ? "" : percent(probability)));
}

function notes(answer) {
  const { note, unknown_words: all = [], more_unknown_words: more } = answer.reading ?? {};
  const unknown = all.filter((word) => /[\p{L}\p{N}]/u.test(word));
  const words = unknown.length
    ? `Not in the transformer’s vocabulary: ${unknown.join(", ")}${more ? ` and ${more} more` : ""}.` : "";
  const unlike = answer.unlike_training ? "This text is unlike the training data, so its answer means little." : "";
  const text = [unlike, note, words].filter(Boolean).join(" ");
  return text ? el("p", { className: "soft note", dir: "auto" }, text) : null;
}
