// What is typed, and a column for each model: it is answered as soon as the typing pauses.

import { Column } from "./column.js";
import { byId, chance, el, said } from "./dom.js";
import { Edits } from "./edits.js";
import { closeEditor } from "./editor.js";

const TYPING = 120, EXPLAINING = 450, SPEAKING = 900; // milliseconds

export class Desk {
  /** `field`: what is typed into. `options`: what a column needs besides: panels, ask, limits, isGone, onGone. */
  constructor(models, field, options) {
    Object.assign(this, { field, changes: byId("changes"), edits: new Edits(field), timers: {} });
    this.columns = models.map((model) => new Column(model, this.edits, {
      ...options,
      onEdit: () => this.onEdit(), onAnswer: () => this.speak(), onReasons: () => this.showChanges(), named: models.length > 1,
    }));
    byId("columns").className = this.columns.length > 1 ? "two" : "alone";
    byId("columns").replaceChildren(...this.columns.map(({ place }) => place));
    field.onInput = () => this.read();
    if (field.value) this.read(); // a browser may keep what was typed when the page is loaded again
  }

  /** The names of the models, and what a number is. */
  static showNames(models) {
    const names = new Intl.ListFormat("en").format(models.map(({ name, target }) => (target ? `${name}: ${target}` : name)));
    document.title = `${names} · glassformer`;
    byId("names").textContent = names;
  }

  later(name, milliseconds, what) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(what, milliseconds);
  }

  read() {
    const asked = this.field.value;
    this.edits.clear(asked);
    closeEditor();
    this.showChanges();
    this.later("read", TYPING, () => this.columns.forEach((column) => column.read(asked)));
    this.later("explain", EXPLAINING, () => this.columns.forEach((column) => column.explain(asked)));
  }

  /** Puts something else in the place of what was typed. */
  put(asked) {
    this.field.put(asked);
    this.read();
    this.field.focus();
  }

  onEdit() {
    this.showChanges();
    this.columns.forEach((column) => column.reread());
  }

  showChanges() {
    this.changes.hidden = !this.field.value;
    if (!this.edits.any) {
      const words = this.columns?.some(({ state }) => state.reasons?.words.length);
      this.changes.textContent = words ? "Click a word below to drop or swap it." : "";
      return;
    }
    const button = (name, act) => el("button", { type: "button", onclick: act }, name);
    this.changes.replaceChildren(
      el("span", {}, `${this.edits.summary}.`), " ",
      button("Keep", () => this.put(this.edits.changed)), " ",
      button("Undo", () => { this.edits.clear(this.field.value); this.onEdit(); this.field.focus(); }));
  }

  /** Tells a screen reader the answer, once the typing pauses. */
  speak() {
    this.later("speak", SPEAKING, () => {
      byId("spoken").textContent = this.columns.map(({ state: { model, answer, changed } }) => {
        const now = changed ?? answer;
        return now?.prediction == null ? "" : `${model.name}: ${said(now.prediction)}${now.confidence === undefined ? "" : `, ${chance(now.confidence)}`}.`;
      }).join(" ");
    });
  }
}
