// All that the page shows of a model: its answer to the text, the words with their shares, and the parts below.

import { el } from "./dom.js";
import { Latest } from "./latest.js";
import { Words } from "./words.js";

export class Column {
  /**
   * `panels`: the parts { beside, below }, each { name, draw(state) }. `ask`: how to get an answer and an explanation.
   * `isGone(error)`: whether what answers is gone; the page has said so then.
   */
  constructor(model, edits, { panels, ask, limits, onEdit, onAnswer, onReasons, isGone, onGone, named }) {
    this.state = { model, limits, text: "", answer: null, changed: null, reasons: null, edits, onEdit, onGone };
    this.panels = [...panels.beside, ...panels.below];
    this.onAnswer = onAnswer;
    this.onReasons = onReasons;
    this.words = new Words(edits, onEdit);
    this.refusal = el("p", { className: "refusal", hidden: true });
    this.drawn = new Map();
    const places = (parts) => parts.map(({ name }) => {
      const place = el("div", { className: `panel ${name}` });
      this.drawn.set(name, place);
      return place;
    });
    this.place = el("section", { className: "column", "aria-label": `Answer of ${model.name}` },
      el("h2", { className: named ? "" : "unseen" }, model.name),
      this.refusal,
      el("div", { className: "beside" }, ...places(panels.beside)),
      el("div", { className: "below" }, this.words.place, ...places(panels.below)));
    const fail = (say) => (question, error) => { if (!isGone(error)) say(error.message); };
    this.answers = new Latest(
      ({ text }) => ask.answer(text, model),
      ({ which }, answer) => this.set({ [which]: answer }),
      fail((reason) => this.refuse(reason)));
    this.reasons = new Latest(
      (text) => ask.explanation(text, model),
      (asked, found) => { this.set({ reasons: { ...found, asked } }); this.words.show(found); },
      fail((reason) => { this.set({ reasons: null }); this.words.show(null, reason); }));
    this.draw();
  }

  set(found) {
    Object.assign(this.state, found);
    this.draw();
    if ("reasons" in found) this.onReasons();
    if (!("answer" in found || "changed" in found)) return;
    this.refusal.hidden = true;
    this.onAnswer();
  }

  refuse(reason) {
    this.set({ answer: null, changed: null });
    this.refusal.textContent = reason;
    this.refusal.hidden = false;
  }

  /** A new text was typed, or for a model of several inputs a row. It is empty if there is nothing to ask. */
  read(text) {
    this.state.text = text;
    this.state.changed = null;
    this.words.stale();
    if (text) this.answers.want({ text, which: "answer" });
    else { this.answers.drop(); this.reasons.drop(); this.set({ answer: null, reasons: null }); this.words.show(null); }
  }

  explain(text) {
    if (text) this.reasons.want(text);
  }

  /** Words were dropped or swapped, or put back. */
  reread() {
    this.words.mark();
    if (this.state.edits.any) this.answers.want({ text: this.state.edits.changed, which: "changed" });
    else { this.answers.next = null; this.set({ changed: null }); }
  }

  draw() {
    for (const { name, draw } of this.panels) {
      const place = this.drawn.get(name), open = place.querySelector("details")?.open;
      const found = draw(this.state);
      if (found && found === place.firstChild) continue;
      place.replaceChildren(...(found ? [found] : []));
      if (open && place.querySelector("details")) place.querySelector("details").open = true;
    }
  }
}
