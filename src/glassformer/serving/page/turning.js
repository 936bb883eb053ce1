// Searches for the smallest change of words that turns the answer, when the reader asks for it.

import { chance, el, said, short } from "./dom.js";
import { typed } from "./fields.js";
import { perColumn } from "./fold.js";
import { Gone, post } from "./server.js";

const AROUND = 24; // characters that are shown on either side of a change

export const drawTurning = perColumn(() => new Turning());

class Turning {
  constructor() {
    this.button = el("button", { type: "button", className: "link", onclick: () => (this.search ? this.stop() : this.begin()) });
    this.found = el("div", { className: "inside", role: "status" });
    this.place = el("div", { className: "ruled" }, this.button, this.found);
    this.stop();
  }

  draw(state) {
    this.state = state;
    if (state.reasons !== this.reasons || state.text !== this.reasons?.asked) this.stop();
    this.reasons = state.reasons;
    return state.reasons && this.place;
  }

  stop() {
    this.search?.abort();
    this.search = null;
    this.button.textContent = "What would turn the answer?";
    this.found.replaceChildren();
  }

  async begin() {
    const { model, reasons, onGone } = this.state, search = new AbortController();
    this.search = search;
    this.button.textContent = "Stop the search";
    this.found.replaceChildren(el("p", { className: "soft" }, "Searching for the smallest change of words …"));
    let shown;
    try {
      const body = { text: reasons.asked, label: reasons.label, model: model.name };
      shown = this.show(await post("counterfactual", body, search.signal), reasons);
    } catch (error) {
      if (search.signal.aborted) return;
      if (error instanceof Gone) onGone();
      shown = error instanceof Gone ? [] : [el("p", {}, error.message)];
    }
    if (this.search !== search) return;
    this.stop();
    this.found.replaceChildren(...shown);
  }

  show(turned, reasons) {
    const answered = `${turned.answers} changed texts were answered, of at most ${turned.budget}.`;
    if (!turned.changes.length) {
      return [el("p", {}, `${turned.sentence.split(": ")[0]}.`), el("p", { className: "soft" }, answered)];
    }
    return [
      el("p", { className: "words", dir: "auto" }, ...excerpt(Array.from(reasons.text), turned.changes)),
      el("p", {}, "The answer is then ", el("b", { dir: "auto" }, "confidence" in turned ? said(turned.prediction) : short(turned.prediction)),
        "confidence" in turned ? ` ${chance(turned.confidence)}. ` : ". ",
        el("button", { type: "button", onclick: () => this.take(turned.changes, reasons) }, "Try it")),
      el("p", { className: "soft" }, `${answered} A smaller change may exist.`),
    ];
  }

  /** Makes the changes in the words above, as if the reader had. */
  take(changes, reasons) {
    const { edits, onEdit } = this.state;
    edits.clear(reasons.asked);
    changes.forEach(({ start, after }) => {
      const number = reasons.words.findIndex((word) => word.start === start);
      const word = reasons.words[number];
      edits.set(number, word, word.column ? typed(word.column, after) : after);
    });
    onEdit();
  }
}

/** The text around the changes. What is left out is marked. */
function excerpt(points, changes) {
  const parts = [];
  let end = 0;
  changes.forEach(({ before, after, start, end: stop }, number) => {
    parts.push(...between(points.slice(end, start).join(""), number > 0, true));
    parts.push(el("del", {}, el("span", { className: "unseen" }, "without "), before));
    if (after) parts.push(" ", el("ins", {}, el("span", { className: "unseen" }, "but with "), after));
    end = stop;
  });
  return [...parts, ...between(points.slice(end).join(""), true, false)];
}

function between(text, afterChange, beforeChange) {
  const points = Array.from(text), sides = afterChange + beforeChange;
  if (points.length <= AROUND * sides + 3) return [text];
  const head = afterChange ? points.slice(0, AROUND).join("").replace(/(?<=\s)\S*$/u, "") : "";
  const tail = beforeChange ? points.slice(-AROUND).join("").replace(/^\S*(?=\s)/u, "") : "";
  return [head.trimEnd() && `${head.trimEnd()} `, "… ", tail.trimStart()];
}
